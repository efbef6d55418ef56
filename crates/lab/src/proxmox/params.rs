//! The parameters of a request: from its query, and from a body that is a form or JSON.

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde_json::Value;

use super::answer::Refusal;

/// What was given, each name with its values in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Params(BTreeMap<String, Vec<String>>);

impl Params {
    pub(super) fn read(parts: &Parts, body: &[u8]) -> Result<Self, Refusal> {
        let mut params = Self::default();
        params.add_form(parts.uri.query().unwrap_or("").as_bytes());
        let json = parts
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.starts_with("application/json"));
        if json && !body.is_empty() {
            let value: BTreeMap<String, Value> =
                serde_json::from_slice(body).map_err(|_| Refusal::Unreadable)?;
            for (name, value) in value {
                params.add_value(&name, value);
            }
        } else {
            params.add_form(body);
        }
        Ok(params)
    }

    fn add_form(&mut self, form: &[u8]) {
        for pair in form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let mut next = || decode(halves.next().unwrap_or_default());
            let (name, value) = (next(), next());
            self.add(&name, value);
        }
    }

    fn add_value(&mut self, name: &str, value: Value) {
        match value {
            Value::Null => {}
            Value::Bool(on) => self.add(name, if on { "1" } else { "0" }.to_owned()),
            Value::String(text) => self.add(name, text),
            Value::Array(values) => {
                for value in values {
                    self.add_value(name, value);
                }
            }
            Value::Number(_) | Value::Object(_) => self.add(name, value.to_string()),
        }
    }

    fn add(&mut self, name: &str, value: String) {
        self.0.entry(name.to_owned()).or_default().push(value);
    }

    /// A parameter. Of several the last.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    /// All values of a parameter.
    pub(super) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every parameter, the last value of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter_map(|(name, values)| Some((name.as_str(), values.last()?.as_str())))
    }

    /// A parameter that must be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name)
            .ok_or_else(|| Refusal::parameter(name, "property is missing and it is not optional"))
    }

    /// A whole number.
    pub(super) fn integer(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let fits = text.parse().map(Some);
        fits.map_err(|_| Refusal::parameter(name, format!("type check ('integer') failed - got '{text}'")))
    }

    /// Yes or no, as Proxmox reads it.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            Some("1" | "on" | "yes" | "true") => Ok(true),
            None | Some("0" | "off" | "no" | "false") => Ok(false),
            Some(other) => Err(Refusal::parameter(
                name,
                format!("type check ('boolean') failed - got '{other}'"),
            )),
        }
    }

    /// Refuses every parameter but these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Refusal> {
        let errors: BTreeMap<String, String> = self
            .0
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| {
                let why =
                    "property is not defined in schema and the schema does not allow additional properties";
                (name.clone(), why.to_owned())
            })
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Refusal::Parameters(errors))
        }
    }
}

fn decode(text: &[u8]) -> String {
    let spaced: Vec<u8> = text
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    percent_encoding::percent_decode(&spaced)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn params(query: &str, kind: &str, body: &str) -> Result<Params, Refusal> {
        let request = Request::builder()
            .uri(format!("/x?{query}"))
            .header(CONTENT_TYPE, kind)
            .body(())
            .expect("a request");
        Params::read(&request.into_parts().0, body.as_bytes())
    }

    #[test]
    fn parameters_come_from_everywhere() {
        let form = "application/x-www-form-urlencoded";
        let read = params("type=vm", form, "command=ls&command=-l%20a&x=a+b").expect("parameters");
        assert_eq!(read.get("type"), Some("vm"));
        assert_eq!(read.all("command"), ["ls", "-l a"]);
        assert_eq!(read.get("x"), Some("a b"));
        let body = r#"{"command":["ls","-l"],"online":true,"limit":5,"none":null}"#;
        let read = params("", "application/json", body).expect("parameters");
        assert_eq!(read.all("command"), ["ls", "-l"]);
        assert_eq!(read.flag("online"), Ok(true));
        assert_eq!(read.integer("limit"), Ok(Some(5)));
        assert_eq!(read.get("none"), None);
        assert_eq!(
            params("", "application/json", "{").err(),
            Some(Refusal::Unreadable)
        );
    }

    #[test]
    fn wrong_parameters_are_named() {
        let read = params("limit=x&online=maybe&odd=1", "", "").expect("parameters");
        let wrong = |name: &str, why: &str| Refusal::parameter(name, why);
        assert_eq!(
            read.integer("limit"),
            Err(wrong("limit", "type check ('integer') failed - got 'x'"))
        );
        assert_eq!(
            read.flag("online"),
            Err(wrong("online", "type check ('boolean') failed - got 'maybe'"))
        );
        assert_eq!(
            read.required("target"),
            Err(wrong("target", "property is missing and it is not optional"))
        );
        assert!(read.only(&["limit", "online", "odd"]).is_ok());
        assert_eq!(
            read.only(&["limit", "online"]),
            Err(wrong(
                "odd",
                "property is not defined in schema and the schema does not allow additional properties"
            ))
        );
    }
}
