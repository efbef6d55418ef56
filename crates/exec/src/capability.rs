//! What the superuser may do besides files, given up before a child begins. An ordinary user has nothing to give up.

use rustix::io;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

use crate::Profile;

/// What opens the entries of other processes: with any of these, Linux shows the environment of a process to another
/// whatever its sandbox says. `SYS_ADMIN` is among them.
const LOOKING_INTO_OTHERS: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::CHECKPOINT_RESTORE);

/// What changes the machine by other ways than its files.
const CHANGING_THE_MACHINE: CapabilitySet = CapabilitySet::SYS_MODULE
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::SYS_TIME)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::MAC_ADMIN)
    .union(CapabilitySet::MAC_OVERRIDE);

/// Gives up, on this thread and for everything it starts, what the profile does not need.
pub(crate) fn give_up(profile: Profile) -> io::Result<()> {
    let unwanted = match profile {
        Profile::ReadOnly => LOOKING_INTO_OTHERS.union(CHANGING_THE_MACHINE),
        Profile::ReadWrite => LOOKING_INTO_OTHERS,
    };
    let mut sets = capabilities(None)?;
    if sets.permitted.is_empty() {
        return Ok(());
    }
    clear_ambient_capability_set()?;
    if sets.effective.contains(CapabilitySet::SETPCAP) {
        // Else a program of the superuser would get them back when it begins.
        for capability in unwanted.iter() {
            match remove_capability_from_bounding_set(capability) {
                // A capability that this kernel does not know cannot be had.
                Ok(()) | Err(io::Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    sets.effective.remove(unwanted);
    sets.permitted.remove(unwanted);
    sets.inheritable.remove(unwanted);
    set_capabilities(None, sets)
}
