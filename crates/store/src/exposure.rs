//! Whether others on the machine can read a store.

/// Who on this machine can read a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exposure {
    /// Its owner alone.
    OwnerOnly {
        /// The rights, as the system writes them.
        rights: String,
    },
    /// Other users too.
    Others {
        /// The rights, as the system writes them.
        rights: String,
        /// What to do about it.
        remedy: String,
    },
}
