//! Why a command did not do what it was asked to, and the exit code that goes with it.

use std::io;

use interlock_store::Error as StoreError;

/// Why a command ended otherwise than by doing, or saying that it could not do, what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Wrong usage or configuration.
    #[error("{0}")]
    Wrong(String),
    /// The thing asked for did not succeed.
    #[error("{0}")]
    Unsuccessful(String),
    /// Someone at the keyboard wanted out at once.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    pub(crate) fn wrong(why: impl std::fmt::Display) -> Self {
        Self::Wrong(why.to_string())
    }

    pub(crate) fn unsuccessful(why: impl std::fmt::Display) -> Self {
        Self::Unsuccessful(why.to_string())
    }

    /// A stable word for programs.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Wrong(_) => "wrong_usage_or_configuration",
            Self::Unsuccessful(_) => "unsuccessful",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Address { .. }
            | StoreError::NotAvailable
            | StoreError::IsDirectory { .. }
            | StoreError::Folder { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::Foreign { .. }
            | StoreError::Denied { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::NoSigningKey
            | StoreError::Seals { .. }
            | StoreError::Unsealed { .. }
            | StoreError::Behind { .. }
            | StoreError::Mark { .. }
            | StoreError::Unsigned { .. }
            | StoreError::SchemaChanged(_) => Self::wrong(error),
            StoreError::NotFound { what, .. } => {
                let list = match *what {
                    "hold" => "`interlock approvals` lists the open ones",
                    "run" => "`interlock show SESSION` lists the runs of a session",
                    _ => "`interlock sessions` lists them",
                };
                Self::Unsuccessful(format!("{error}; {list}"))
            }
            StoreError::Ambiguous { .. } => Self::Unsuccessful(format!("{error}; write more of it")),
            _ => Self::unsuccessful(error),
        }
    }
}

impl From<interlock_engine::Error> for Failure {
    fn from(error: interlock_engine::Error) -> Self {
        use interlock_engine::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::Model(_)
            | Error::Prompt(_)
            | Error::Offer(_)
            | Error::Unknown { .. }
            | Error::NoModel
            | Error::Name(_) => Self::wrong(error),
            Error::Random(_)
            | Error::Unreadable { .. }
            | Error::Unwritable { .. }
            | Error::Refused(_)
            | Error::Secret { .. }
            | Error::NotNow(_) => Self::unsuccessful(error),
        }
    }
}

impl From<interlock_assembly::Error> for Failure {
    fn from(error: interlock_assembly::Error) -> Self {
        use interlock_assembly::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::Engine(error) => error.into(),
            Error::Model(_)
            | Error::Mask(_)
            | Error::Prompt(_)
            | Error::Infrastructure(_)
            | Error::Rules(_)
            | Error::Key(_)
            | Error::NoKey => Self::wrong(error),
            Error::Catalogue(_) | Error::Toolbox(_) | Error::Resource(_) | Error::Record(_) => {
                Self::unsuccessful(error)
            }
        }
    }
}

impl From<interlock_engine::TraceError> for Failure {
    fn from(error: interlock_engine::TraceError) -> Self {
        match error {
            interlock_engine::TraceError::Store(error) => error.into(),
            other => Self::unsuccessful(other),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}
