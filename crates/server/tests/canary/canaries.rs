//! Secrets that are put somewhere, each with the name of the place, and the search for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlock_protocol::ContentHash;

/// So much of a canary is enough to be found.
const WINDOW: usize = 10;

/// What was put where.
#[derive(Default)]
pub(crate) struct Canaries {
    planted: BTreeMap<String, Vec<String>>,
}

/// Letters and digits that follow from a name.
fn random(name: &str, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut text = String::new();
    for round in 0.. {
        let hash = ContentHash::of(format!("{name} {round}")).to_string();
        let digits: Vec<u8> = hash.bytes().filter(u8::is_ascii_hexdigit).collect();
        for pair in digits.chunks_exact(2) {
            let pair = std::str::from_utf8(pair).unwrap();
            let byte = usize::from(u8::from_str_radix(pair, 16).unwrap());
            text.push(char::from(LETTERS[byte % LETTERS.len()]));
            if text.len() == length {
                return text;
            }
        }
    }
    text
}

impl Canaries {
    fn plant(&mut self, name: &str, value: &str) {
        let before = self.planted.insert(name.to_owned(), vec![value.to_owned()]);
        assert!(before.is_none(), "{name} is planted twice");
    }

    /// A token that shows by itself what it is.
    pub(crate) fn token(&mut self, name: &str) -> String {
        let value = random(name, 36);
        self.plant(name, &value);
        format!("ghp_{value}")
    }

    /// A value that is a secret only by where it stands.
    pub(crate) fn bare(&mut self, name: &str) -> String {
        let value = format!("7{}x", random(name, 22));
        self.plant(name, &value);
        value
    }

    /// `password=VALUE`.
    pub(crate) fn assigned(&mut self, name: &str) -> String {
        format!("password={}", self.bare(name))
    }

    /// A secret of ours, and the forms in which somebody may repeat it.
    pub(crate) fn own(&mut self, name: &str) -> String {
        let value = format!("sk-proj-9{}", random(name, 40));
        let secret = &value[8..];
        let forms = vec![
            secret.to_owned(),
            secret.to_uppercase(),
            secret.to_lowercase(),
            secret.chars().rev().collect(),
            base64(&value),
            base64(&format!("me:{value}")),
        ];
        self.planted.insert(name.to_owned(), forms);
        value
    }

    /// Which canary is in which sink.
    pub(crate) fn found(&self, sinks: &[(String, Vec<u8>)]) -> Vec<String> {
        let mut found = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (name, sink) in self.pairs(sinks) {
            found.entry(name).or_default().insert(sink);
        }
        found
            .into_iter()
            .map(|(name, sinks)| format!("{name}: {sinks:?}"))
            .collect()
    }

    /// The sinks in which no canary is.
    pub(crate) fn blind<'s>(&self, sinks: &'s [(String, Vec<u8>)]) -> BTreeSet<&'s str> {
        let seen: BTreeSet<&str> = self.pairs(sinks).into_iter().map(|(_, sink)| sink).collect();
        let all = sinks.iter().map(|(sink, _)| sink.as_str());
        all.filter(|sink| !seen.contains(sink)).collect()
    }

    fn pairs<'s>(&self, sinks: &'s [(String, Vec<u8>)]) -> BTreeSet<(&str, &'s str)> {
        let mut windows: HashMap<&[u8], &str> = HashMap::new();
        for (name, values) in &self.planted {
            for value in values {
                for window in value.as_bytes().windows(WINDOW) {
                    windows.insert(window, name);
                }
            }
        }
        let mut pairs = BTreeSet::new();
        for (sink, bytes) in sinks {
            for window in bytes.windows(WINDOW) {
                if let Some(name) = windows.get(window) {
                    pairs.insert((*name, sink.as_str()));
                }
            }
        }
        pairs
    }
}

pub(crate) fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

/// As providers show a wrong key: its beginning, its end, and stars.
pub(crate) fn starred(key: &str) -> String {
    format!("{}{}{}", &key[..14], "*".repeat(20), &key[key.len() - 6..])
}
