//! Where a store is. Built from the configuration here and nowhere else, and printed without secrets.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;

/// Where a store is: `sqlite:PATH`.
///
/// Other crates compare it, print it and pass it on. What kind of place it is, only the backends know.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Location(pub(crate) Kind);

/// The kinds of places, one for each way to keep a store.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A `SQLite` database in a file.
    File(PathBuf),
    /// A `SQLite` database in memory, gone with the last handle.
    Memory,
}

impl Location {
    /// A `SQLite` database in the file of this name.
    pub fn sqlite(file: impl AsRef<OsStr>) -> Self {
        Self(Kind::File(PathBuf::from(file.as_ref())))
    }

    /// A `SQLite` database in memory, gone with the last handle. For tests.
    pub const fn memory() -> Self {
        Self(Kind::Memory)
    }

    /// The same place, where a relative file name is relative to this folder.
    #[must_use]
    pub fn relative_to(self, folder: impl AsRef<OsStr>) -> Self {
        match self.0 {
            Kind::File(path) if path.is_relative() => Self(Kind::File(Path::new(folder.as_ref()).join(path))),
            kind => Self(kind),
        }
    }

    /// The name of the file on this machine that holds the store; nothing for a store that is in no file here. For code that
    /// keeps tools away from the file. Only this crate opens it.
    pub fn local_file(&self) -> Option<&OsStr> {
        match &self.0 {
            Kind::File(path) => Some(path.as_os_str()),
            Kind::Memory => None,
        }
    }
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("postgres:") || lower.starts_with("postgresql:") {
            return Err(Error::NotAvailable);
        }
        match text.strip_prefix("sqlite:") {
            Some(":memory:") => Ok(Self::memory()),
            Some(path) if !path.is_empty() && !path.contains('\0') => {
                // `sqlite:///a` and `sqlite:/a` are one place, as elsewhere.
                Ok(Self::sqlite(path.strip_prefix("//").unwrap_or(path)))
            }
            _ => Err(Error::Address {
                // A mistyped address can hold a password.
                text: match text.split_once('@') {
                    Some((_, rest)) => format!("…@{rest}"),
                    None => text.to_owned(),
                },
            }),
        }
    }
}

/// The text of the configuration, without secrets.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::File(path) => write!(f, "sqlite:{}", path.display()),
            Kind::Memory => f.write_str("sqlite::memory:"),
        }
    }
}

/// As it is displayed: a secret must not get into a log by way of `{:?}`.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}
