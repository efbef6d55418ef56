//! Names and identifiers. Each is its own type, so that a session can never be passed where a call is meant,
//! and each is checked when it is made, so that no later room meets an empty, endless or invisible one.

use std::fmt;

/// The longest identifier or name, in bytes.
pub const MAX_BYTES: usize = 128;

/// Why a text is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no text.
    #[error("{what} is empty")]
    Empty {
        /// The type that was asked for.
        what: &'static str,
    },
    /// There is too much text.
    #[error("{what} has {bytes} bytes; {MAX_BYTES} is the most")]
    TooLong {
        /// The type that was asked for.
        what: &'static str,
        /// How long the text is.
        bytes: usize,
    },
    /// A character that has no place there.
    #[error("{what} may not contain {character:?} (at byte {at})")]
    Character {
        /// The type that was asked for.
        what: &'static str,
        /// The character.
        character: char,
        /// Where it stands.
        at: usize,
    },
    /// White space at either end, which people cannot see.
    #[error("{what} begins or ends with white space")]
    Padded {
        /// The type that was asked for.
        what: &'static str,
    },
}

/// Which characters a kind of identifier takes.
#[derive(Clone, Copy)]
enum Charset {
    /// Visible ASCII: identifiers that machines make.
    Visible,
    /// ASCII letters, digits, `_`, `-` and `.`: names that stand in code and in metric labels.
    Word,
    /// Any text without control characters and invisible ones: names that people make.
    Text,
}

impl Charset {
    fn takes(self, c: char) -> bool {
        match self {
            Self::Visible => c.is_ascii_graphic(),
            Self::Word => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'),
            Self::Text => !c.is_control() && !is_invisible(c),
        }
    }
}

/// Characters that show nothing or change the direction of what follows: two names could look the same.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn check(what: &'static str, charset: Charset, text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Empty { what });
    }
    if text.len() > MAX_BYTES {
        return Err(Error::TooLong {
            what,
            bytes: text.len(),
        });
    }
    if let Some((at, character)) = text.char_indices().find(|&(_, c)| !charset.takes(c)) {
        return Err(Error::Character { what, character, at });
    }
    if text.trim().len() != text.len() {
        return Err(Error::Padded { what });
    }
    Ok(())
}

fn prefixed_hex(prefix: &str, bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(prefix.len() + 1 + bytes.len() * 2);
    text.push_str(prefix);
    text.push('_');
    for byte in bytes {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $charset:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text and takes it.
            pub fn new(text: impl Into<String>) -> Result<Self, Error> {
                let text = text.into();
                check(stringify!($name), Charset::$charset, &text)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self, Error> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        // Ordering and hashing of the newtype are those of its text, so maps can be searched by a plain `&str`.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

macro_rules! machine_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        text_type!($(#[$doc])* $name, Visible);

        impl $name {
            /// Makes an identifier from bytes that the caller drew; this room draws none.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(prefixed_hex($prefix, &bytes))
            }
        }
    };
}

machine_id!(
    /// One run of a chain, or one chat.
    SessionId, "ses"
);
machine_id!(
    /// What an alert is about, from its first notice until it is resolved.
    IncidentId, "inc"
);
machine_id!(
    /// One stage of a session.
    StageId, "stg"
);
machine_id!(
    /// One agent at work in a stage. The gate keeps its state per execution.
    ExecutionId, "exe"
);
machine_id!(
    /// One piece of work of a session, from one input to its answer.
    RunId, "run"
);
machine_id!(
    /// One process that works on sessions.
    WorkerId, "wrk"
);
machine_id!(
    /// One tool call, as the model or the caller named it.
    CallId, "call"
);
machine_id!(
    /// One call that waits for a human.
    HoldId, "hold"
);
machine_id!(
    /// One permission to run one call once.
    PermitId, "prm"
);
machine_id!(
    /// The record of what running one permit did.
    ReceiptId, "rcp"
);
machine_id!(
    /// What one read returned.
    EvidenceId, "evd"
);
machine_id!(
    /// One event in the record.
    EventId, "evt"
);

text_type!(
    /// A person or a program that is signed in.
    UserId, Text
);
text_type!(
    /// A configured agent.
    AgentName, Text
);
text_type!(
    /// A short text for people: a resource's display name, a stage's title.
    Label, Text
);
text_type!(
    /// A tool, as the catalogue names it.
    ToolName, Word
);
text_type!(
    /// An argument of a tool.
    ArgumentName, Word
);
text_type!(
    /// A governance category: `read_only`, `system_write`, `network` and what an operator adds.
    CategoryName, Word
);
text_type!(
    /// The rule that decided.
    RuleName, Word
);

/// The place of an event in its session: 1 for the first, one more for each that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Sequence(u64);

impl Sequence {
    /// Before the first event: subscribing from here misses nothing.
    pub const START: Self = Self(0);

    /// The sequence with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next one, or nothing at the end of the numbers.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_identifier_is_refused_with_the_cause() {
        let long = "x".repeat(MAX_BYTES + 1);
        let cases: &[(&str, Error)] = &[
            ("", Error::Empty { what: "SessionId" }),
            (
                &long,
                Error::TooLong {
                    what: "SessionId",
                    bytes: 129,
                },
            ),
            (
                "a b",
                Error::Character {
                    what: "SessionId",
                    character: ' ',
                    at: 1,
                },
            ),
            (
                "a\0",
                Error::Character {
                    what: "SessionId",
                    character: '\0',
                    at: 1,
                },
            ),
            (
                "a\n",
                Error::Character {
                    what: "SessionId",
                    character: '\n',
                    at: 1,
                },
            ),
            (
                "\u{430}bc",
                Error::Character {
                    what: "SessionId",
                    character: '\u{430}',
                    at: 0,
                },
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(SessionId::new(*text), Err(expected.clone()), "{text:?}");
        }
    }

    #[test]
    fn names_of_people_take_unicode_but_nothing_invisible() {
        assert!(UserId::new("Zoë Ångström").is_ok());
        for text in [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{feff}",
            "a\u{7f}",
            "a\u{85}",
            "\u{2028}",
        ] {
            assert!(
                matches!(UserId::new(text), Err(Error::Character { .. })),
                "{text:?}"
            );
        }
        for text in [" a", "a ", "\u{a0}a", " "] {
            assert_eq!(
                UserId::new(text),
                Err(Error::Padded { what: "UserId" }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn names_in_code_are_words() {
        assert!(ToolName::new("grafana.query-range_2").is_ok());
        for text in ["infra query", "infra/query", "infra_query(", "infra_quеry", "a:b"] {
            assert!(ToolName::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn drawn_bytes_become_a_valid_identifier() {
        let id = SessionId::from_bytes([0xab; 16]);
        assert_eq!(id.as_str(), "ses_abababababababababababababababab");
        assert_eq!(id.as_str().parse(), Ok(id));
    }

    #[test]
    fn reading_json_checks_too() {
        assert!(serde_json::from_str::<CallId>("\"call_1\"").is_ok());
        for text in ["\"\"", "\"a b\"", "1", "null", "\"\\u0000\""] {
            assert!(serde_json::from_str::<CallId>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sequences_end_instead_of_wrapping() {
        assert_eq!(Sequence::START.next(), Some(Sequence::new(1)));
        assert_eq!(Sequence::new(u64::MAX).next(), None);
    }
}
