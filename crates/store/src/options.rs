//! Where the store is, as one line of the configuration.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

/// How long to wait for another program that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// Nowhere: gone with the last handle. For tests.
    Memory,
}

/// Whether a store may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Open {
    /// Made if it is not there, brought up to date, written to.
    #[default]
    ReadWrite,
    /// Only looked at.
    ReadOnly,
}

/// Which store, and how to open it. In the configuration it is a text: `sqlite:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Options {
    /// Where it is.
    pub place: Place,
    /// Whether it may be written to.
    pub open: Open,
    /// How long to wait for another program that holds the database.
    pub busy_timeout: Duration,
}

impl Options {
    /// A database in this file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Place::File(path.into()))
    }

    /// A database that is gone with the last handle.
    pub fn memory() -> Self {
        Self::at(Place::Memory)
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            open: Open::ReadWrite,
            busy_timeout: BUSY_TIMEOUT,
        }
    }

    /// The same, only to be looked at.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.open = Open::ReadOnly;
        self
    }

    /// The same, waiting this long for another program that holds the database.
    #[must_use]
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Memory => None,
        }
    }
}

impl FromStr for Options {
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
                Ok(Self::file(path.strip_prefix("//").unwrap_or(path)))
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

impl TryFrom<String> for Options {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => write!(f, "sqlite:{}", path.display()),
            Place::Memory => f.write_str("sqlite::memory:"),
        }
    }
}

impl From<Options> for String {
    fn from(options: Options) -> Self {
        options.to_string()
    }
}

impl schemars::JsonSchema for Options {
    fn schema_name() -> Cow<'static, str> {
        "Store".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Where everything is kept: `sqlite:PATH`.",
            "pattern": "^sqlite:.+$",
            "examples": ["sqlite:/var/lib/interlock/interlock.db"]
        })
    }
}
