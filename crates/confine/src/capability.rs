//! What the superuser may do besides files, given up before a child begins. An ordinary user has nothing to give up.

use rustix::io;
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

use interlock_protocol::SocketKind;

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

/// What changes files, processes and limits. Reading the files of others (`DAC_READ_SEARCH`), the kernel's log
/// (`SYSLOG`) and acting as another user (`SETUID`, `SETGID`) stay: reads need them.
const CHANGING_FILES_AND_OTHERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::LEASE)
    .union(CapabilitySet::IPC_OWNER)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SYS_PACCT)
    .union(CapabilitySet::SYS_TTY_CONFIG)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_CONTROL)
    .union(CapabilitySet::AUDIT_WRITE)
    .union(CapabilitySet::BLOCK_SUSPEND)
    .union(CapabilitySet::WAKE_ALARM)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// What a read may not do besides, for the kinds of sockets that it may open: the kernel shows its packet filter only
/// to who could change it, and sends an echo request only for who may send any packet.
fn network_of(sockets: &[SocketKind]) -> CapabilitySet {
    let mut unwanted = CapabilitySet::NET_BROADCAST;
    if !sockets.contains(&SocketKind::Netlink) {
        unwanted |= CapabilitySet::NET_ADMIN;
    }
    if !sockets.contains(&SocketKind::Network) {
        unwanted |= CapabilitySet::NET_RAW;
    }
    unwanted
}

/// Gives up, for this process and for everything it starts, what the profile does not need.
pub(crate) fn give_up(profile: Profile, sockets: &[SocketKind]) -> io::Result<()> {
    let unwanted = match profile {
        Profile::ReadOnly => LOOKING_INTO_OTHERS
            .union(CHANGING_THE_MACHINE)
            .union(CHANGING_FILES_AND_OTHERS)
            .union(network_of(sockets)),
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
