//! Where keys come from, and how they stay out of everything that is written down.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};

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

/// A part of a secret of at least this length is taken out too: servers repeat the beginning or the end of a wrong key.
const PART: usize = 8;
/// Secrets from this length on are looked for by their parts.
const LONG: usize = 16;
/// Where the part of a key that tells whose it is ends; before this place it is no secret.
const HEAD: usize = 4;

/// Takes the secrets that a client sends out of what comes back: some servers repeat a wrong key.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    whole: Vec<SecretString>,
    /// Parts of long secrets.
    parts: HashSet<[u8; PART]>,
}

impl Scrubber {
    pub(crate) fn add(&mut self, secret: &str) {
        for form in forms(secret) {
            if form.len() >= MIN_BYTES && !self.whole.iter().any(|known| known.expose_secret() == form) {
                self.whole.push(SecretString::from(form));
            }
        }
        if secret.len() >= LONG && secret.is_ascii() {
            let parts = secret.as_bytes()[HEAD..].windows(PART);
            let parts = parts.filter_map(|part| <[u8; PART]>::try_from(part).ok());
            // A word of small letters alone is in other texts too.
            self.parts
                .extend(parts.filter(|part| part.iter().any(|byte| !byte.is_ascii_lowercase())));
        }
        // The longest first, so that none leaves the rest of another behind.
        self.whole
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
    }

    /// The text without the secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        self.bytes(text.as_bytes()).map_or_else(
            || text.to_owned(),
            |clean| String::from_utf8_lossy(&clean).into_owned(),
        )
    }

    /// The bytes without the secrets, or nothing where there are none in them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut changed: Option<Vec<u8>> = None;
        for secret in &self.whole {
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
        let parted = self.without_parts(changed.as_deref().unwrap_or(bytes));
        parted.or(changed)
    }

    /// The bytes without parts of secrets, or nothing where there are none in them.
    fn without_parts(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.parts.is_empty() {
            return None;
        }
        let mut clean: Option<Vec<u8>> = None;
        // Where the last run of parts ends.
        let mut open: Option<usize> = None;
        for (at, part) in bytes.windows(PART).enumerate() {
            let known = <[u8; PART]>::try_from(part).is_ok_and(|part| self.parts.contains(&part));
            if !known {
                continue;
            }
            let clean = clean.get_or_insert_with(Vec::new);
            if open.is_none_or(|end| at > end) {
                clean.extend_from_slice(&bytes[open.unwrap_or(0)..at]);
                clean.extend_from_slice(HIDDEN.as_bytes());
            }
            open = Some(at + PART);
        }
        let mut clean = clean?;
        clean.extend_from_slice(&bytes[open.unwrap_or(0)..]);
        Some(clean)
    }
}

/// The secrets in all forms in which somebody may repeat them, without those that are too short to be told from a word.
pub(crate) fn all_forms<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Vec<String> {
    let mut all: Vec<String> = secrets.into_iter().flat_map(forms).collect();
    all.retain(|form| form.len() >= MIN_BYTES);
    all.sort();
    all.dedup();
    all
}

/// A secret in the forms in which a server may repeat it: as it is, in JSON, percent-encoded, as hexadecimal digits, as base64,
/// backwards.
fn forms(secret: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(secret).to_string();
    let bytes = secret.as_bytes();
    let hex: String = bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let percent: String = bytes.iter().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    });
    let mut forms = vec![
        secret.to_owned(),
        quoted.trim_matches('"').to_owned(),
        hex.to_ascii_uppercase(),
        hex,
        percent.to_ascii_lowercase(),
        percent,
        secret.chars().rev().collect(),
    ];
    // Behind one or two other bytes, base64 looks different. The characters at both ends depend on what is around.
    for lead in 0..3 {
        let encoded = STANDARD_NO_PAD.encode([&b"\0\0"[..lead], bytes].concat());
        let from = [0, 2, 3][lead];
        let inside = &encoded[from..encoded.len() - 1];
        forms.push(inside.replace('+', "-").replace('/', "_"));
        forms.push(inside.to_owned());
    }
    forms
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
        write!(f, "Scrubber({} forms)", self.whole.len())
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
    fn parts_and_other_forms_of_a_key_are_taken_out() {
        let mut scrubber = Scrubber::default();
        let key = ["sk-ant", "-api03-", "Zq8Xw3Vn7Rt2Lk9Pf4"].concat();
        scrubber.add(&key);
        let encode = |text: &str| STANDARD_NO_PAD.encode(text);
        let hex = key.bytes().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        for echo in [
            format!("Incorrect key provided: {}...", &key[..20]),
            format!("key ends with {}", &key[key.len() - 10..]),
            format!("{}**********{}", &key[..16], &key[key.len() - 8..]),
            encode(&key),
            encode(&format!("user:{key}")),
            encode(&format!("u:{key}:x")),
            hex.clone(),
            hex.to_ascii_uppercase(),
            key.chars().rev().collect(),
        ] {
            let clean = scrubber.text(&echo);
            assert!(clean.contains(HIDDEN), "{echo} -> {clean}");
            for part in ["Zq8Xw3Vn", "Lk9Pf4", "4fP9kL"] {
                assert!(!clean.contains(part), "{echo} -> {clean}");
            }
        }
        let prose = "the api key for anthropic starts with sk-ant- and is long";
        assert_eq!(scrubber.text(prose), prose);
    }

    #[test]
    fn an_empty_variable_is_a_missing_one() {
        let secrets = Secrets::given([("A", ""), ("B", "value")]);
        assert!(secrets.get("A").is_none() && secrets.get("C").is_none());
        assert!(secrets.get("B").is_some());
        assert_eq!(format!("{secrets:?}"), r#"Secrets(["A", "B"])"#);
    }
}
