//! A tool's name as a provider's wire takes it.
//!
//! Providers take `^[a-zA-Z0-9_-]{1,64}$` (and one of them no digit or dash at the beginning); ours have dots and up to
//! 128 bytes. Most names are only rewritten, `.` to `__`, and can be read back by eye. Where that would be ambiguous or
//! too long, the name ends in a hash of the whole. Which of the two it is depends on the name alone, not on which other
//! tools are offered: a stored history keeps its meaning when the tools change.

use interlock_protocol::{ContentHash, ToolName};
use serde::Serialize;
use std::fmt;

/// The most bytes of a name on the wire.
pub const MAX_BYTES: usize = 64;

/// What stands between the readable part and the hash.
const MARK: &str = "-x";
/// How many hexadecimal digits of the hash.
const DIGITS: usize = 20;

/// A name that every provider's wire takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WireName(String);

impl WireName {
    /// The name of this tool on the wire.
    pub fn of(tool: &ToolName) -> Self {
        let name = tool.as_str();
        if is_plain(name) {
            Self(name.replace('.', "__"))
        } else {
            Self(hashed(name))
        }
    }

    /// A name that the wire takes for whatever a model wrote, to put its mistaken call back into the history. It may be
    /// the name of no tool.
    pub fn for_echo(written: &str) -> Self {
        if !written.is_empty()
            && written.len() <= MAX_BYTES
            && written.bytes().all(is_wire_byte)
            && starts_well(written)
        {
            Self(written.to_owned())
        } else {
            Self(hashed(written))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WireName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

const fn is_wire_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn starts_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether `.` can become `__` and nothing else could have become the same.
fn is_plain(name: &str) -> bool {
    let dots = name.bytes().filter(|&byte| byte == b'.').count();
    name.len() + dots <= MAX_BYTES
        && (starts_well(name) || name.starts_with('.'))
        && !["__", "._", "_."]
            .iter()
            .any(|ambiguous| name.contains(ambiguous))
        && !ends_like_a_hash(name)
}

fn ends_like_a_hash(name: &str) -> bool {
    name.len().checked_sub(DIGITS).is_some_and(|at| {
        let (head, digits) = name.as_bytes().split_at(at);
        head.ends_with(MARK.as_bytes())
            && digits
                .iter()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn hashed(name: &str) -> String {
    let mut wire = String::with_capacity(MAX_BYTES);
    if !starts_well(name) {
        wire.push('_');
    }
    let room = MAX_BYTES - MARK.len() - DIGITS;
    for c in name.chars() {
        if wire.len() >= room {
            break;
        }
        wire.push(if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        });
    }
    wire.push_str(MARK);
    wire.push_str(&ContentHash::of(name).to_string()[..DIGITS]);
    wire
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wire(name: &str) -> String {
        WireName::of(&ToolName::new(name).expect("a tool name")).0
    }

    #[test]
    fn most_names_are_only_rewritten() {
        let cases = [
            ("infra_query", "infra_query"),
            ("grafana.query-range", "grafana__query-range"),
            ("a.b.c", "a__b__c"),
            ("a..b", "a____b"),
            (".a", "__a"),
        ];
        for (name, expected) in cases {
            assert_eq!(wire(name), expected);
        }
    }

    #[test]
    fn names_that_would_be_ambiguous_or_too_long_end_in_a_hash() {
        let long = "s.".to_owned() + &"x".repeat(120);
        let imitation = format!("a-x{}", "0".repeat(DIGITS));
        for name in ["a__b", "a_.b", "a._b", "1st.tool", "-a", &long, &imitation] {
            let wire = wire(name);
            assert!(ends_like_a_hash(&wire), "{name} → {wire}");
            assert!(wire.len() <= MAX_BYTES, "{name} → {wire}");
        }
        assert_ne!(wire("a__b"), wire("a.b"));
        assert_ne!(wire("a_.b"), wire("a._b"));
    }

    fn names() -> impl Strategy<Value = String> {
        prop_oneof!["[ab1_.-]{1,8}", "[a-z0-9_.-]{1,128}", "[a-f0-9x-]{20,30}"]
    }

    proptest! {
        #[test]
        fn every_name_fits_the_wire(name in names()) {
            let wire = wire(&name);
            prop_assert!((1..=MAX_BYTES).contains(&wire.len()), "{wire}");
            prop_assert!(wire.bytes().all(is_wire_byte) && starts_well(&wire), "{wire}");
        }

        #[test]
        fn two_names_never_meet_on_the_wire(one in names(), other in names()) {
            prop_assert_eq!(one == other, wire(&one) == wire(&other));
        }

        #[test]
        fn a_rewritten_name_reads_back(name in names()) {
            let wire = wire(&name);
            if !ends_like_a_hash(&wire) {
                prop_assert_eq!(wire.replace("__", "."), name);
            }
        }

        #[test]
        fn whatever_a_model_wrote_can_be_echoed(written in any::<String>()) {
            let wire = WireName::for_echo(&written).0;
            prop_assert!((1..=MAX_BYTES).contains(&wire.len()) && wire.bytes().all(is_wire_byte) && starts_well(&wire));
        }
    }
}
