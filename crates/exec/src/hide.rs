//! Keeps others of the same user from looking into this process.

use rustix::process::{DumpableBehavior, Resource, getrlimit, set_dumpable_behavior, setrlimit};

use crate::Error;

/// Lets this process open as many files as the system allows it: a sandbox is described by open files.
pub fn open_many_files() -> Result<(), Error> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).map_err(|errno| Error::Hide(errno.into()))
}

/// Makes the entries of this process under `/proc` (environment, memory, open files) unreadable for other processes of
/// the same user, and core dumps impossible. For the beginning of the program, before it holds a secret.
pub fn hide_this_process() -> Result<(), Error> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| Error::Hide(errno.into()))
}
