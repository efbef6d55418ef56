//! The name of a new user: one that nobody mistakes for another.
//!
//! [`UserId`] takes whatever was somebody's name before. Whoever is made now gets a name that looks like no other, can
//! be typed on every keyboard, and stands in an address as it is.

use std::fmt;
use std::str::FromStr;

use crate::id::{MAX_BYTES, UserId};

/// Why a text cannot be the name of a new user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no text, or too much.
    #[error("a name has 1 to {MAX_BYTES} characters; this one has {count}")]
    Length {
        /// How many characters it has.
        count: usize,
    },
    /// A character that may look like another, or like nothing.
    #[error(
        "a name has letters from a to z, digits and `.`, `_`, `-`, `@`; {character:?} (the character at place {place}) \
         could be mistaken for another, or not be seen"
    )]
    Character {
        /// The character.
        character: char,
        /// Its place, counted from 1.
        place: usize,
    },
    /// The first character is a sign.
    #[error("a name begins with a letter or a digit; this one begins with {character:?}")]
    Beginning {
        /// The character.
        character: char,
    },
}

/// The name of a new user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(UserId);

impl UserName {
    /// Checks the text and takes it.
    pub fn new(text: &str) -> Result<Self, Error> {
        let count = text.chars().count();
        if !(1..=MAX_BYTES).contains(&count) {
            return Err(Error::Length { count });
        }
        let odd = text.chars().enumerate().find(|&(_, c)| !is_plain(c));
        if let Some((before, character)) = odd {
            let place = before + 1;
            return Err(Error::Character { character, place });
        }
        if let Some(character) = text.chars().next().filter(|c| !c.is_ascii_alphanumeric()) {
            return Err(Error::Beginning { character });
        }
        // What is plain is also what every name of a user may be.
        UserId::new(text).map(Self).map_err(|_| Error::Length { count })
    }

    /// As everybody else knows it.
    pub const fn id(&self) -> &UserId {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@')
}

impl FromStr for UserName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text)
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<UserName> for UserId {
    fn from(name: UserName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain_or_refused_with_the_reason() {
        let character = |character, place| Err(Error::Character { character, place });
        let cases = [
            ("zoe", Ok(())),
            ("Zoe", Ok(())),
            ("zoe.angstrom@example.org", Ok(())),
            ("7of9", Ok(())),
            ("a", Ok(())),
            ("", Err(Error::Length { count: 0 })),
            // Cyrillic, Greek, full width, a mathematical letter, a ligature.
            ("\u{430}dmin", character('\u{430}', 1)),
            ("adm\u{456}n", character('\u{456}', 4)),
            ("\u{3bf}lga", character('\u{3bf}', 1)),
            ("adm\u{ff49}n", character('\u{ff49}', 4)),
            ("\u{1d41a}dmin", character('\u{1d41a}', 1)),
            ("o\u{fb03}ce", character('\u{fb03}', 2)),
            // An accent, composed and not.
            ("zo\u{eb}", character('\u{eb}', 3)),
            ("zoe\u{308}", character('\u{308}', 4)),
            // What shows nothing, turns the direction, or is white.
            ("ad\u{200b}min", character('\u{200b}', 3)),
            ("ad\u{202e}nim", character('\u{202e}', 3)),
            ("admin\u{feff}", character('\u{feff}', 6)),
            ("admin\u{3164}", character('\u{3164}', 6)),
            ("admin ", character(' ', 6)),
            (" admin", character(' ', 1)),
            ("admin\u{a0}", character('\u{a0}', 6)),
            ("ad min", character(' ', 3)),
            ("ad\tmin", character('\t', 3)),
            ("ad\0min", character('\0', 3)),
            ("ad\nmin", character('\n', 3)),
            // What means something in an address or on a command line.
            ("a/b", character('/', 2)),
            ("a%2fb", character('%', 2)),
            ("a:b", character(':', 2)),
            ("--help", Err(Error::Beginning { character: '-' })),
            ("..", Err(Error::Beginning { character: '.' })),
            ("@zoe", Err(Error::Beginning { character: '@' })),
        ];
        for (text, expected) in cases {
            assert_eq!(UserName::new(text).map(drop), expected, "{text:?}");
        }
        let long = "x".repeat(MAX_BYTES);
        assert_eq!(UserName::new(&long).unwrap().as_str(), long);
        let longer = "x".repeat(MAX_BYTES + 1);
        assert_eq!(UserName::new(&longer), Err(Error::Length { count: 129 }));
    }
}
