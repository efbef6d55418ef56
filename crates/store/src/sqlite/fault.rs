//! What `SQLite` says, in our words.

use std::path::PathBuf;
use std::str::FromStr;

use rusqlite::{ErrorCode, ffi};
use serde::de::DeserializeOwned;

use crate::Error;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let path = PathBuf::new();
        let Some(code) = error.sqlite_error_code() else {
            return match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
                | rusqlite::Error::QueryReturnedNoRows => Self::corrupt(error),
                other => Self::Database(other.to_string()),
            };
        };
        let reason = error.to_string();
        match code {
            ErrorCode::DatabaseCorrupt => Self::Corrupt { path, what: reason },
            ErrorCode::NotADatabase => Self::NotADatabase { path },
            ErrorCode::ReadOnly => Self::ReadOnly { path },
            ErrorCode::DiskFull => Self::Full { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked { path },
            ErrorCode::PermissionDenied
            | ErrorCode::CannotOpen
            | ErrorCode::AuthorizationForStatementDenied => Self::Denied { path, reason },
            ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed => Self::Io { path, reason },
            ErrorCode::ConstraintViolation => Self::Inconsistent(reason),
            _ => Self::Database(reason),
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
pub(super) fn text<T: FromStr>(text: &str) -> Result<T, Error>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(Error::corrupt)
}

/// A stored JSON value.
pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(Error::corrupt)
}
