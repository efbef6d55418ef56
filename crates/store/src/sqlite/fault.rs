//! What `SQLite` says, in our words.

use std::str::FromStr;

use rusqlite::{ErrorCode, ffi};
use serde::de::DeserializeOwned;

use crate::{Error, Location};

/// What went wrong on a connection, which does not know where its store is. [`Fault::at`] says that, once, where an answer
/// leaves the backend: no type of `rusqlite` gets further than this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Corrupt(String),
    Denied(String),
    Folder(String),
    Foreign,
    Full,
    Io(String),
    IsDirectory,
    Locked,
    Missing,
    NotADatabase,
    ReadOnly,
    /// What needs no place to be understood.
    Other(Error),
}

impl Fault {
    pub(crate) fn corrupt(what: impl std::fmt::Display) -> Self {
        Self::Corrupt(what.to_string())
    }

    pub(super) fn not_found(what: &'static str, id: &(impl std::fmt::Display + ?Sized)) -> Self {
        Self::Other(Error::not_found(what, id))
    }

    /// Whether the storage failed, and not what was asked of it.
    pub(super) const fn is_storage(&self) -> bool {
        match self {
            Self::Corrupt(_)
            | Self::Denied(_)
            | Self::Full
            | Self::Io(_)
            | Self::Locked
            | Self::NotADatabase
            | Self::ReadOnly => true,
            Self::Folder(_) | Self::Foreign | Self::IsDirectory | Self::Missing => false,
            Self::Other(error) => error.is_storage(),
        }
    }

    /// The same, of this store.
    pub(super) fn at(self, store: &Location) -> Error {
        let store = store.clone();
        match self {
            Self::Corrupt(what) => Error::Corrupt { store, what },
            Self::Denied(reason) => Error::Denied { store, reason },
            Self::Folder(reason) => Error::Folder { store, reason },
            Self::Foreign => Error::Foreign { store },
            Self::Full => Error::Full { store },
            Self::Io(reason) => Error::Io { store, reason },
            Self::IsDirectory => Error::IsDirectory { store },
            Self::Locked => Error::Locked { store },
            Self::Missing => Error::Missing { store },
            Self::NotADatabase => Error::NotADatabase { store },
            Self::ReadOnly => Error::ReadOnly { store },
            Self::Other(error) => error,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error_code() else {
            return match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
                | rusqlite::Error::QueryReturnedNoRows => Self::corrupt(error),
                other => Error::Database(other.to_string()).into(),
            };
        };
        let reason = error.to_string();
        match code {
            ErrorCode::DatabaseCorrupt => Self::Corrupt(reason),
            ErrorCode::NotADatabase => Self::NotADatabase,
            ErrorCode::ReadOnly => Self::ReadOnly,
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked,
            ErrorCode::PermissionDenied
            | ErrorCode::CannotOpen
            | ErrorCode::AuthorizationForStatementDenied => Self::Denied(reason),
            ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed => Self::Io(reason),
            ErrorCode::ConstraintViolation => Error::Inconsistent(reason).into(),
            _ => Error::Database(reason).into(),
        }
    }
}

/// Whether a row of that key was there already.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        matches!(
            error.extended_code,
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        )
    })
}

/// A stored word or id.
pub(super) fn text<T: FromStr>(text: &str) -> Result<T, Fault>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(Fault::corrupt)
}

/// A stored JSON value.
pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(Fault::corrupt)
}
