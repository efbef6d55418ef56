//! Keeps others of the same user from looking into this process.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::Error;

/// Makes the entries of this process under `/proc` (environment, memory, open files) unreadable for other processes of
/// the same user, and core dumps impossible. For the beginning of the program, before it holds a secret.
pub fn hide_this_process() -> Result<(), Error> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| Error::Hide(errno.into()))
}
