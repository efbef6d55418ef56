//! Where the store is, as one line of the configuration.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Location};

/// How long to wait for another program that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a store may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Open {
    /// Made if it is not there, brought up to date, written to.
    #[default]
    ReadWrite,
    /// Brought up to date and written to. One that is not there is [`Error::Missing`].
    Existing,
    /// Only looked at.
    ReadOnly,
    /// Read only, and opened even if its schema was changed outside Interlock.
    ToVerify,
}

/// Which store, and how to open it. In the configuration it is a text: `sqlite:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Options {
    /// Where it is.
    pub location: Location,
    /// Whether it may be written to.
    pub open: Open,
    /// How long to wait for another program that holds the database.
    pub busy_timeout: Duration,
}

impl Options {
    /// A `SQLite` database in the file of this name.
    pub fn sqlite(file: impl AsRef<OsStr>) -> Self {
        Self::at(Location::sqlite(file))
    }

    /// A database that is gone with the last handle.
    pub const fn memory() -> Self {
        Self::at(Location::memory())
    }

    /// A store that is there.
    pub const fn at(location: Location) -> Self {
        Self {
            location,
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

    /// The same, to be written to and never made.
    #[must_use]
    pub fn existing(mut self) -> Self {
        self.open = Open::Existing;
        self
    }

    /// The same, read only, and opened even if its schema was changed outside Interlock: for checking the record.
    #[must_use]
    pub fn to_verify(mut self) -> Self {
        self.open = Open::ToVerify;
        self
    }

    /// The same, waiting this long for another program that holds the database.
    #[must_use]
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }
}

impl FromStr for Options {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(Self::at)
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
        self.location.fmt(f)
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
