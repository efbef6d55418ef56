//! What a process may use, by rlimits: inherited by everything that it starts.

use rustix::io;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::system::sysinfo;

use crate::orders::{Profile, Resources};

/// Sets the limits of a profile, never higher than they are.
pub(crate) fn set(profile: Profile, resources: &Resources) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    match profile {
        Profile::ReadWrite => Ok(()),
        Profile::ReadOnly => {
            // Counted over all processes of the user, so those that run already come on top.
            let running = u64::from(sysinfo().procs);
            lower(Resource::Nproc, running.saturating_add(resources.processes))?;
            lower(Resource::Cpu, resources.cpu_seconds)?;
            // Not the address space: some runtimes reserve far more than they ever use.
            lower(Resource::Data, resources.memory_bytes)?;
            lower(Resource::Fsize, resources.file_bytes)?;
            lower(Resource::Nofile, resources.open_files)
        }
    }
}

fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let mut limit = getrlimit(resource);
    limit.current = Some(limit.current.map_or(most, |current| current.min(most)));
    limit.maximum = Some(limit.maximum.map_or(most, |maximum| maximum.min(most)));
    setrlimit(resource, limit)
}
