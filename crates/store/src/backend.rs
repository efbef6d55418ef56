//! The boundary: what keeps a store, chosen by its location. Above it are typed operations; below it, one database.

use interlock_seal::Keyring;

use crate::location::Kind;
use crate::sqlite::Sqlite;
use crate::{Error, Location, Options};

/// What keeps a store. Each variant has a method of the same name and signature for every operation that [`on!`] is used
/// with; the compiler says which one is missing.
pub(crate) enum Backend {
    Sqlite(Sqlite),
}

/// How a store is opened, as to its signatures.
pub(crate) enum Opening {
    /// Signs with these keys and checks with them; nothing where nothing is signed.
    With(Option<Keyring>),
    /// The same, and signs what is there as it is.
    Adopting(Keyring),
    /// Also where the store is signed and its key cannot be had.
    WithoutKey,
}

impl Backend {
    pub(crate) fn open(options: &Options, opening: &Opening) -> Result<Self, Error> {
        match &options.location.0 {
            Kind::File(_) | Kind::Memory => Sqlite::open(options, opening).map(Self::Sqlite),
        }
    }

    pub(crate) const fn location(&self) -> &Location {
        match self {
            Self::Sqlite(sqlite) => sqlite.location(),
        }
    }

    pub(crate) const fn keyring(&self) -> Option<&Keyring> {
        match self {
            Self::Sqlite(sqlite) => sqlite.keyring(),
        }
    }
}

/// Does an operation on whatever keeps the store, and waits for its answer: `on!(self, session(id))`.
macro_rules! on {
    ($store:expr, $operation:ident($($argument:expr),* $(,)?)) => {
        match &*$store.backend {
            $crate::backend::Backend::Sqlite(sqlite) => sqlite.$operation($($argument),*).await,
        }
    };
}

pub(crate) use on;
