//! Where keys come from, and how they stay out of everything that is written down.

use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::fmt;

/// Looks keys up by the name of their environment variable.
#[derive(Clone, Default)]
pub struct Secrets(Source);

#[derive(Clone, Default)]
enum Source {
    #[default]
    Environment,
    Given(BTreeMap<String, SecretString>),
}

impl Secrets {
    /// The environment of this process.
    pub const fn environment() -> Self {
        Self(Source::Environment)
    }

    /// These and no others.
    pub fn given<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), SecretString::from(value.into())));
        Self(Source::Given(pairs.collect()))
    }

    /// The value of this variable. An empty one counts as missing.
    pub(crate) fn get(&self, variable: &str) -> Option<SecretString> {
        match &self.0 {
            Source::Environment => std::env::var(variable).ok().map(SecretString::from),
            Source::Given(pairs) => pairs.get(variable).cloned(),
        }
        .filter(|secret| !secret.expose_secret().is_empty())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Environment => f.write_str("Secrets(environment)"),
            Source::Given(pairs) => f.debug_tuple("Secrets").field(&pairs.keys()).finish(),
        }
    }
}

/// What stands where a secret stood.
pub(crate) const HIDDEN: &str = "[hidden]";
/// Shorter values are not looked for: they would be found everywhere.
const MIN_BYTES: usize = 6;

/// Takes the secrets that a client sends out of what comes back: some servers repeat a wrong key.
#[derive(Clone, Default)]
pub(crate) struct Scrubber(Vec<SecretString>);

impl Scrubber {
    pub(crate) fn add(&mut self, secret: &str) {
        let quoted = serde_json::Value::from(secret).to_string();
        let escaped = quoted.trim_matches('"');
        for form in [secret, escaped] {
            if form.len() >= MIN_BYTES && !self.0.iter().any(|known| known.expose_secret() == form) {
                self.0.push(SecretString::from(form.to_owned()));
            }
        }
        // The longest first, so that none leaves the rest of another behind.
        self.0
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
    }

    /// The text without the secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.expose_secret(), HIDDEN)
        })
    }

    /// The bytes without the secrets, or nothing where there are none in them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut changed: Option<Vec<u8>> = None;
        for secret in &self.0 {
            let needle = secret.expose_secret().as_bytes();
            let haystack = changed.as_deref().unwrap_or(bytes);
            let mut found = positions(haystack, needle).peekable();
            if found.peek().is_none() {
                continue;
            }
            let mut clean = Vec::with_capacity(haystack.len());
            let mut from = 0;
            for at in found {
                clean.extend_from_slice(&haystack[from..at]);
                clean.extend_from_slice(HIDDEN.as_bytes());
                from = at + needle.len();
            }
            clean.extend_from_slice(&haystack[from..]);
            changed = Some(clean);
        }
        changed
    }
}

fn positions<'a>(haystack: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = *needle.first()?;
        loop {
            let rest = haystack.get(from..)?;
            let at = from + rest.iter().position(|&byte| byte == first)?;
            if haystack[at..].starts_with(needle) {
                from = at + needle.len();
                return Some(at);
            }
            from = at + 1;
        }
    })
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} secrets)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_text_and_bytes() {
        let mut scrubber = Scrubber::default();
        scrubber.add("sk-canary");
        scrubber.add("sk-canary-longer");
        scrubber.add("quo\"ted-one");
        scrubber.add("abc");
        let cases = [
            ("key sk-canary.", "key [hidden]."),
            ("sk-canary-longer sk-canary", "[hidden] [hidden]"),
            (r#"{"k":"quo\"ted-one"}"#, r#"{"k":"[hidden]"}"#),
            ("abc stays", "abc stays"),
        ];
        for (text, expected) in cases {
            assert_eq!(scrubber.text(text), expected);
            let bytes = scrubber.bytes(text.as_bytes());
            assert_eq!(bytes.unwrap_or_else(|| text.into()), expected.as_bytes());
        }
    }

    #[test]
    fn an_empty_variable_is_a_missing_one() {
        let secrets = Secrets::given([("A", ""), ("B", "value")]);
        assert!(secrets.get("A").is_none() && secrets.get("C").is_none());
        assert!(secrets.get("B").is_some());
        assert_eq!(format!("{secrets:?}"), r#"Secrets(["A", "B"])"#);
    }
}
