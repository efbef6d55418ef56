//! Closed sets of words: one spelling each in Rust, in JSON, in text and in metric labels.

/// A word that is not in its set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a {set}")]
pub struct Unknown {
    /// The set.
    pub set: &'static str,
    /// The word, shortened.
    pub word: String,
}

/// Declares an enum whose every variant has one stable word.
macro_rules! words {
    ($(#[$doc:meta])* $set:ident { $($(#[$variant_doc:meta])* $name:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum $set {
            $($(#[$variant_doc])* #[serde(rename = $word)] $name,)+
        }

        impl $set {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The stable word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $set {
            type Err = $crate::word::Unknown;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    // A hostile text may be long; the message need not be.
                    $crate::word::Unknown { set: stringify!($set), word: text.chars().take(64).collect() }
                })
            }
        }
    };
}

pub(crate) use words;
