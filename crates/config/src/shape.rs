//! Compares the tree with the schema, and reports everything that does not fit at once.
//!
//! The schema comes from the types, so that the two cannot differ. What a schema cannot say (an address, a length of
//! time) is found when the typed values are read.

use serde_json::Value;

use crate::interpolate::join;
use crate::problem::{Problem, nearest};
use crate::tree::{Data, Node};

/// Everything in the tree that the schema does not allow.
pub(crate) fn check(schema: &Value, node: &Node, problems: &mut Vec<Problem>) {
    Shape { root: schema }.node(schema, node, "", problems);
}

struct Shape<'s> {
    root: &'s Value,
}

impl<'s> Shape<'s> {
    /// Follows references, and picks what is left of `T or null`.
    fn plain(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..16 {
            if let Some(name) = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.strip_prefix("#/$defs/"))
            {
                schema = self
                    .root
                    .get("$defs")
                    .and_then(|all| all.get(name))
                    .unwrap_or(&Value::Null);
                continue;
            }
            let choices = schema
                .get("anyOf")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let mut real = choices
                .iter()
                .filter(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
            match (real.next(), real.next()) {
                (Some(only), None) => schema = only,
                _ => return schema,
            }
        }
        schema
    }

    fn allows_null(schema: &Value) -> bool {
        let null = |value: &Value| value.as_str() == Some("null");
        let kinds = schema
            .get("type")
            .is_some_and(|kinds| null(kinds) || kinds.as_array().is_some_and(|kinds| kinds.iter().any(null)));
        let choice = schema
            .get("anyOf")
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().any(Self::allows_null));
        // A schema that says nothing allows everything.
        kinds
            || choice
            || schema.as_object().is_some_and(|keys| {
                !keys.keys().any(|key| {
                    matches!(
                        key.as_str(),
                        "type" | "anyOf" | "oneOf" | "$ref" | "enum" | "const"
                    )
                })
            })
    }

    fn node(&self, schema: &'s Value, node: &Node, path: &str, problems: &mut Vec<Problem>) {
        let plain = self.plain(schema);
        if node.data == Data::Null {
            if !Self::allows_null(schema) && !Self::allows_null(plain) {
                problems.push(
                    Problem::new(path, node.place, "has no value").help("give it one or leave the key out"),
                );
            }
            return;
        }
        let kinds: Vec<&str> = match plain.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| fits(kind, &node.data)) {
            problems.push(wrong_kind(&kinds, node, path));
            return;
        }
        let words = words(plain);
        match &node.data {
            Data::Map(entries) => self.map(plain, entries, node, path, problems),
            Data::List(items) => {
                if let Some(least) = plain.get("minItems").and_then(Value::as_u64)
                    && u64::try_from(items.len()).unwrap_or(u64::MAX) < least
                {
                    problems.push(Problem::new(path, node.place, format!("needs at least {least}")));
                }
                if let Some(schema) = plain.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.node(schema, item, &format!("{path}[{index}]"), problems);
                    }
                }
            }
            Data::Text(text) if !words.is_empty() && !words.contains(&text.value.as_str()) => {
                // What came from outside may be a secret in the wrong place: it is not said back.
                let shown: String = if text.origins.is_empty() {
                    text.value.chars().take(40).collect()
                } else {
                    "…".to_owned()
                };
                let help = match nearest(&text.value, words.iter().copied()) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("write one of {}", list(&words)),
                };
                problems.push(
                    Problem::new(path, node.place, format!("`{shown}` is not one of its values")).help(help),
                );
            }
            Data::Integer(number) => {
                #[expect(clippy::cast_precision_loss, reason = "bounds of settings are small")]
                range(plain, *number as f64, node, path, problems);
            }
            Data::Float(number) => range(plain, *number, node, path, problems),
            Data::Text(text) if text.interpolated => {
                if let (Ok(number), false) = (text.value.trim().parse::<f64>(), kinds.contains(&"string")) {
                    range(plain, number, node, path, problems);
                }
            }
            Data::Null | Data::Bool(_) | Data::Text(_) => {}
        }
    }

    fn map(
        &self,
        schema: &'s Value,
        entries: &[(crate::tree::Name, Node)],
        node: &Node,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let known = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, value) in entries {
            let below = join(path, &name.text);
            let property = known.and_then(|known| known.get(&name.text));
            match (property, others) {
                (Some(property), _) => self.node(property, value, &below, problems),
                (None, Some(Value::Bool(false))) => {
                    let keys: Vec<&str> = known
                        .map(|known| known.keys().map(String::as_str).collect())
                        .unwrap_or_default();
                    problems.push(unknown_key(&name.text, &keys, &below).at(name.place));
                }
                (None, Some(schema @ Value::Object(_))) => self.node(schema, value, &below, problems),
                (None, _) => {}
            }
        }
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for key in required.iter().filter_map(Value::as_str) {
            if !entries.iter().any(|(name, _)| name.text == key) {
                problems.push(Problem::new(path, node.place, format!("needs the key `{key}`")));
            }
        }
    }
}

impl Problem {
    fn at(mut self, place: crate::Place) -> Self {
        self.place = Some(place);
        self
    }
}

fn unknown_key(name: &str, known: &[&str], path: &str) -> Problem {
    let shown: String = name.chars().take(60).collect();
    let problem = Problem::new(path, None, format!("there is no key `{shown}`"));
    let by_variable = format!("{}_env", name.to_ascii_lowercase().replace('-', "_"));
    if known.contains(&by_variable.as_str()) {
        return problem.help(format!(
            "a secret is not written into the file: name its environment variable with `{by_variable}`"
        ));
    }
    match nearest(name, known.iter().copied()) {
        Some(key) => problem.help(format!("did you mean `{key}`?")),
        None => problem.help(format!("the keys here are {}", list(known))),
    }
}

fn list(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The words of an enumeration, however the schema spells it.
fn words(schema: &Value) -> Vec<&str> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().filter_map(Value::as_str).collect();
    }
    let choices = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let words: Vec<&str> = choices
        .iter()
        .filter_map(|choice| choice.get("const")?.as_str())
        .collect();
    if words.len() == choices.len() {
        words
    } else {
        Vec::new()
    }
}

fn fits(kind: &str, data: &Data) -> bool {
    match (kind, data) {
        ("object", Data::Map(_))
        | ("array", Data::List(_))
        | ("string", Data::Text(_))
        | ("boolean", Data::Bool(_))
        | ("integer", Data::Integer(_))
        | ("number", Data::Integer(_) | Data::Float(_))
        | ("null", Data::Null) => true,
        (_, Data::Text(text)) if text.interpolated => {
            let value = text.value.trim();
            match kind {
                "boolean" => value.parse::<bool>().is_ok(),
                "integer" => value.parse::<i64>().is_ok(),
                "number" => value.parse::<f64>().is_ok(),
                _ => false,
            }
        }
        _ => false,
    }
}

fn wrong_kind(kinds: &[&str], node: &Node, path: &str) -> Problem {
    let wanted: Vec<&str> = kinds
        .iter()
        .filter_map(|kind| match *kind {
            "object" => Some("a map of keys"),
            "array" => Some("a list"),
            "string" => Some("a text"),
            "boolean" => Some("`true` or `false`"),
            "integer" => Some("a whole number"),
            "number" => Some("a number"),
            _ => None,
        })
        .collect();
    let problem = Problem::new(
        path,
        node.place,
        format!("must be {}, not {}", wanted.join(" or "), node.data.what()),
    );
    match (&node.data, kinds.first()) {
        (Data::Bool(_) | Data::Integer(_) | Data::Float(_), Some(&"string")) => {
            problem.help("put it in quotes")
        }
        (Data::Text(text), Some(&"boolean"))
            if matches!(
                text.value.as_str(),
                "yes" | "no" | "on" | "off" | "True" | "False"
            ) =>
        {
            problem.help("write `true` or `false`")
        }
        (Data::Text(_), Some(&("integer" | "number"))) => problem.help("write it without quotes and units"),
        (Data::Text(_), Some(&"array")) => {
            problem.help("write `[one]`, or each on a line of its own after `- `")
        }
        _ => problem,
    }
}

fn range(schema: &Value, number: f64, node: &Node, path: &str, problems: &mut Vec<Problem>) {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let low = least.is_some_and(|least| number < least);
    let high = most.is_some_and(|most| number > most);
    if low || high {
        let message = match (least, most) {
            (Some(least), Some(most)) => format!("{number} is not between {least} and {most}"),
            (Some(least), None) => format!("{number} is less than {least}"),
            (None, Some(most)) => format!("{number} is more than {most}"),
            (None, None) => return,
        };
        problems.push(Problem::new(path, node.place, message));
    }
}
