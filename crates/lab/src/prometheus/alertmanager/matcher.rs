//! Matchers of labels, as filters in a query (`severity="critical"`) and as JSON in a silence.

use promql_parser::label::Matcher as Test;
use promql_parser::parser::token::{T_EQL, T_EQL_REGEX, T_NEQ, T_NEQ_REGEX};
use serde::{Deserialize, Serialize};

use super::super::labels::Labels;
use super::Error;

/// A matcher on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Matcher {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) is_regex: bool,
    #[serde(default = "equal")]
    pub(super) is_equal: bool,
}

fn equal() -> bool {
    true
}

impl Matcher {
    fn test(&self) -> Result<Test, Error> {
        let token = match (self.is_regex, self.is_equal) {
            (false, true) => T_EQL,
            (false, false) => T_NEQ,
            (true, true) => T_EQL_REGEX,
            (true, false) => T_NEQ_REGEX,
        };
        Test::new_matcher(token, self.name.clone(), self.value.clone()).map_err(Error::Invalid)
    }

    /// Reads `name=value`, with any of the four operators, and the value with or without quotes.
    fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::Invalid(format!("bad matcher format: {text}"));
        let at = text.find(['=', '!']).ok_or_else(bad)?;
        let (name, rest) = text.split_at(at);
        let operators = [
            ("=~", true, true),
            ("!~", true, false),
            ("!=", false, false),
            ("=", false, true),
        ];
        let found = operators
            .iter()
            .find_map(|(op, regex, equal)| Some((rest.strip_prefix(op)?, *regex, *equal)));
        let (value, is_regex, is_equal) = found.ok_or_else(bad)?;
        let name = name.trim();
        if name.is_empty() {
            return Err(bad());
        }
        let value = unquote(value.trim()).ok_or_else(bad)?;
        Ok(Self {
            name: unquote(name).ok_or_else(bad)?,
            value,
            is_regex,
            is_equal,
        })
    }
}

/// A JSON string and a quoted matcher escape in the same way.
fn unquote(text: &str) -> Option<String> {
    if text.starts_with('"') {
        serde_json::from_str(text).ok()
    } else {
        Some(text.to_owned())
    }
}

/// Matchers that must all hold.
#[derive(Debug, Clone)]
pub(super) struct Matchers(Vec<Test>);

impl Matchers {
    pub(super) fn new(matchers: &[Matcher]) -> Result<Self, Error> {
        matchers
            .iter()
            .map(Matcher::test)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Reads filters, each of which may hold several matchers in braces.
    pub(super) fn parse<'t>(filters: impl Iterator<Item = &'t str>) -> Result<Self, Error> {
        let mut matchers = Vec::new();
        for filter in filters {
            let inner = filter
                .trim()
                .strip_prefix('{')
                .and_then(|inner| inner.strip_suffix('}'));
            for part in split(inner.unwrap_or(filter)) {
                matchers.push(Matcher::parse(&part)?);
            }
        }
        Self::new(&matchers)
    }

    pub(super) fn match_labels(&self, labels: &Labels) -> bool {
        self.0.iter().all(|test| test.is_match(labels.get(&test.name)))
    }

    /// Whether they would match an alert that has none of the labels.
    pub(super) fn match_nothing(&self) -> bool {
        self.0.iter().all(|test| test.is_match(""))
    }
}

/// Splits at the commas that are outside of quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for char in text.chars() {
        quoted ^= char == '"' && !escaped;
        escaped = char == '\\' && !escaped;
        match parts.last_mut() {
            Some(_) if char == ',' && !quoted => parts.push(String::new()),
            Some(part) => part.push(char),
            None => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}
