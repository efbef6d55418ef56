//! Where keys come from, and how they stay out of everything that is written down.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};
use std::ops::Range;

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
/// In what a model writes, a beginning or an end of a secret counts from this length on.
const PART_IN_TEXT: usize = 12;
/// An end of a secret of at least this length counts beside stars: `sk-p****1234`.
const BESIDE_STARS: usize = 3;
/// So many stars, dots or bullets stand for what a server left out of a secret.
const STARS: usize = 3;

/// Takes the secrets that a client sends out of what comes back: some servers repeat a wrong key. Letters count whatever
/// their case is: some servers change it.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    /// In small letters.
    whole: Vec<SecretString>,
    /// Parts of long secrets, in small letters.
    parts: HashSet<[u8; PART]>,
    /// Long secrets, in small letters.
    long: Vec<SecretString>,
}

impl Scrubber {
    pub(crate) fn add(&mut self, secret: &str) {
        for form in forms(secret) {
            let form = form.to_ascii_lowercase();
            if form.len() >= MIN_BYTES && !self.whole.iter().any(|known| known.expose_secret() == form) {
                self.whole.push(SecretString::from(form));
            }
        }
        if secret.len() >= LONG && secret.is_ascii() {
            let parts = secret.as_bytes().windows(PART);
            // A word of small letters alone is in other texts too.
            let parts = parts.filter(|part| part.iter().any(|byte| !byte.is_ascii_lowercase()));
            let small = parts.filter_map(|part| <[u8; PART]>::try_from(part.to_ascii_lowercase()).ok());
            self.parts.extend(small);
            self.long.push(SecretString::from(secret.to_ascii_lowercase()));
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
        if self.whole.is_empty() {
            return None;
        }
        let small = bytes.to_ascii_lowercase();
        let mut found = Vec::new();
        for secret in &self.whole {
            let needle = secret.expose_secret().as_bytes();
            found.extend(positions(&small, needle).map(|at| at..at + needle.len()));
        }
        if !self.parts.is_empty() {
            let windows = small.windows(PART).enumerate();
            let known = windows.filter(|(_, part)| {
                <[u8; PART]>::try_from(*part).is_ok_and(|part| self.parts.contains(&part))
            });
            found.extend(known.map(|(at, _)| at..at + PART));
            found.extend(self.starred(&small));
        }
        if found.is_empty() {
            return None;
        }
        found.sort_by_key(|range| (range.start, range.end));
        let mut clean = Vec::with_capacity(bytes.len());
        let mut to = 0;
        for range in found {
            // Parts overlap and touch each other; together they are one.
            if range.start > to || to == 0 {
                clean.extend_from_slice(&bytes[to..range.start]);
                clean.extend_from_slice(HIDDEN.as_bytes());
            }
            to = to.max(range.end);
        }
        clean.extend_from_slice(&bytes[to..]);
        Some(clean)
    }

    /// Where the ends of a secret stand around stars: `sk-p****1234`. Both ends are hidden, and the stars between them.
    fn starred(&self, small: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < small.len() {
            let length = small[at..].iter().take_while(|byte| is_star(**byte)).count();
            if length < STARS {
                at += length.max(1);
                continue;
            }
            let (from, to) = (at, at + length);
            at = to;
            for secret in &self.long {
                let secret = secret.expose_secret().as_bytes();
                // An end is shorter than what is found by its parts.
                let before = (BESIDE_STARS..PART)
                    .rev()
                    .find(|&n| n <= from && small[from - n..from] == secret[..n]);
                let after = (BESIDE_STARS..PART)
                    .rev()
                    .find(|&n| small[to..].starts_with(&secret[secret.len() - n..]));
                if before.is_some() || after.is_some() {
                    found.push(from - before.unwrap_or(0)..to + after.unwrap_or(0));
                }
            }
        }
        found
    }
}

/// `*`, `.`, `x` as in `xxxx`, and the bytes of `…` and `•` in UTF-8.
const fn is_star(byte: u8) -> bool {
    matches!(byte, b'*' | b'.' | b'x' | b'#' | 0xe2 | 0x80 | 0xa6 | 0xa2)
}

/// The secrets in all forms in which somebody may repeat them, without those that are too short to be told from a word.
pub(crate) fn all_forms<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for secret in secrets {
        all.extend(forms(secret));
        for part in ends(secret).chain([secret]) {
            all.extend([
                part.to_owned(),
                part.to_ascii_uppercase(),
                part.to_ascii_lowercase(),
            ]);
        }
    }
    all.retain(|form| form.len() >= MIN_BYTES);
    all.sort();
    all.dedup();
    all
}

/// The beginnings and the ends of a long secret. A word is none: it is in other texts too.
fn ends(secret: &str) -> impl Iterator<Item = &str> {
    let long = secret.len() >= LONG && secret.is_ascii();
    let lengths = if long { PART_IN_TEXT..secret.len() } else { 0..0 };
    lengths
        .flat_map(|length| [&secret[..length], &secret[secret.len() - length..]])
        .filter(|part| {
            let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
            has(u8::is_ascii_digit) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase))
        })
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
            key.to_ascii_uppercase(),
            format!(
                "Incorrect key provided: {}",
                key.to_ascii_uppercase()[..20].to_owned()
            ),
            format!("{}****{}", &key[..6], &key[key.len() - 6..]),
            format!("{}...{}", &key[..4], &key[key.len() - 7..]),
            format!("{}…{}.", &key[..3], &key[key.len() - 7..]),
            format!("xxxxxxxx{}", &key[key.len() - 7..]),
        ] {
            let clean = scrubber.text(&echo);
            assert!(clean.contains(HIDDEN), "{echo} -> {clean}");
            let small = clean.to_ascii_lowercase();
            for part in ["sk-ant", "zq8xw3vn", "lk9pf4", "4fp9kl"] {
                assert!(!small.contains(part), "{echo} -> {clean}");
            }
        }
        for prose in [
            "the api key for anthropic starts with sk-ant- and is long",
            "wait... it is 3 a.m. **Note**: xxx and ***",
            "a list:\n* one\n* two … and so on...",
        ] {
            assert_eq!(scrubber.text(prose), prose);
        }
    }

    proptest::proptest! {
        /// Whatever part of a key stands anywhere in a text, none of it is left.
        #[test]
        fn no_part_of_a_key_is_left(
            key in "[A-Za-z0-9_-]{24,64}",
            (from, length) in (0_usize..16, 8_usize..64),
            before in "[ a-z:\"]{0,12}",
            after in "[ a-z:\"]{0,12}",
            upper in proptest::bool::ANY,
        ) {
            let mut scrubber = Scrubber::default();
            scrubber.add(&key);
            let part = &key[from..(from + length).min(key.len())];
            proptest::prop_assume!(part.bytes().any(|byte| byte.is_ascii_digit()));
            let echo = if upper { part.to_ascii_uppercase() } else { part.to_owned() };
            let clean = scrubber.text(&format!("{before} {echo} {after}"));
            for window in echo.as_bytes().windows(PART).filter(|part| part.iter().any(u8::is_ascii_digit)) {
                let window = String::from_utf8_lossy(window).into_owned();
                proptest::prop_assert!(!clean.contains(&window), "{} -> {}", echo, clean);
            }
            proptest::prop_assert!(clean.starts_with(&before) && clean.ends_with(&after), "{}", clean);
        }
    }

    #[test]
    fn the_masker_is_told_beginnings_ends_and_cases() {
        let key = "sk-9Zq8Xw3Vn7Rt2Lk9Pf4";
        let all = all_forms([key]);
        for form in [key, "sk-9Zq8Xw3Vn7", "w3Vn7Rt2Lk9Pf4"] {
            assert!(all.iter().any(|known| known == form), "{form}");
        }
        assert!(all.contains(&key.to_ascii_uppercase()) && all.contains(&key.to_ascii_lowercase()));
        assert!(
            all_forms(["a-plain-and-long-word-of-nothing"])
                .iter()
                .all(|form| form != "a-plain-and-long")
        );
    }

    #[test]
    fn an_empty_variable_is_a_missing_one() {
        let secrets = Secrets::given([("A", ""), ("B", "value")]);
        assert!(secrets.get("A").is_none() && secrets.get("C").is_none());
        assert!(secrets.get("B").is_some());
        assert_eq!(format!("{secrets:?}"), r#"Secrets(["A", "B"])"#);
    }
}
