//! Which files a process may reach, by Landlock: no privilege needed, inherited by everything the process starts.
//!
//! Landlock knows only permission, from a folder downwards. So everything but the protected paths is permitted, entry by
//! entry along the way to each of them. Two things follow. The names in a folder on the way can be listed, those in a
//! protected folder too, but nothing protected can be opened. And a write cannot add, replace or remove an entry directly
//! in a folder on the way: a right to do so would hold in the protected folder as well. Where the superuser runs us,
//! protected folders are hidden as well (`hidden`), and a write then finds every other folder open. So keep what is
//! protected in a folder of its own.
//!
//! A read finds all devices closed but a few: opening a device can already do something (a watchdog, a tape).
//!
//! A process in a sandbox cannot look into one outside of it: no environment, memory or open file of ours. For the
//! superuser that takes giving up some capabilities as well (`capability`).

use std::os::fd::OwnedFd;
use std::path::Path;

use interlock_protocol::SocketKind;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, make_bitflags,
};

use crate::capability;
use crate::orders::Profile;
use crate::protected::{Open, Protected};

/// Reading, writing and truncating: below that it is no sandbox.
const NEEDED: ABI = ABI::V3;

/// Devices that a read may open for reading. `/dev/null` it may write to as well.
const HARMLESS: [&str; 6] = [
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/kmsg",
    "/dev/tty",
];

/// Why a process is not in its sandbox.
pub(crate) enum Outside {
    /// The kernel has none.
    NotThere(String),
    /// The kernel has one, and something went wrong on the way into it. Nothing may run then, whatever the policy: what
    /// is missing is not the kernel's to give.
    NotEntered(String),
}

/// Gives up, for this process and for everything it starts from now on, what the profile does not permit. Returns what
/// the kernel is too old to enforce.
pub(crate) fn enter(
    profile: Profile,
    protected: &Protected,
    temporary: Option<&Path>,
    sockets: &[SocketKind],
) -> Result<Vec<String>, Outside> {
    let there = is_there();
    try_enter(profile, protected, temporary, sockets).map_err(|reason| {
        if there {
            Outside::NotEntered(reason)
        } else {
            Outside::NotThere(reason)
        }
    })
}

/// Whether the kernel has what a sandbox needs.
fn is_there() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(Ruleset::create)
        .is_ok()
}

/// Whether the kernel keeps a process from sending signals to others.
fn keeps_signals() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .is_ok()
}

fn try_enter(
    profile: Profile,
    protected: &Protected,
    temporary: Option<&Path>,
    sockets: &[SocketKind],
) -> Result<Vec<String>, String> {
    let places = match profile {
        // Closed and hidden.
        Profile::ReadOnly => {
            protected.resolve().hide();
            protected.resolve().with_devices()
        }
        Profile::ReadWrite => protected.resolve().hide(),
    };
    let open = places
        .open()
        .map_err(|error| format!("the protected paths cannot be told from the others: {error}"))?;
    // Before the restriction, which is for ever: what fails here leaves the process as it was, or with less.
    capability::give_up(profile, sockets)
        .map_err(|error| format!("the superuser's capabilities cannot be given up: {error}"))?;
    let status = restrict(profile, &open, temporary, sockets).map_err(|error| error.to_string())?;
    match (status.ruleset, profile) {
        (RulesetStatus::NotEnforced, _) => Err("the kernel does not enforce Landlock".to_owned()),
        (_, Profile::ReadOnly) if !keeps_signals() => Ok(vec!["signals to other processes".to_owned()]),
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, _) => Ok(Vec::new()),
    }
}

fn restrict(
    profile: Profile,
    open: &Open,
    temporary: Option<&Path>,
    sockets: &[SocketKind],
) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?;
    let (in_folder, in_file) = match profile {
        Profile::ReadOnly => {
            ruleset = ruleset.scope(Scope::Signal)?;
            if !sockets.contains(&SocketKind::Unix) {
                ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
            }
            if !sockets.contains(&SocketKind::Network) {
                ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
            }
            (
                AccessFs::from_read(NEEDED),
                make_bitflags!(AccessFs::{Execute | ReadFile}),
            )
        }
        // Ending a process is among what a write may be for.
        Profile::ReadWrite => (AccessFs::from_all(ABI::V5), AccessFs::from_file(ABI::V5)),
    };
    let mut created = ruleset.create()?;
    created = permit(created, &open.on_the_way, AccessFs::ReadDir.into())?;
    created = permit(created, &open.folders, in_folder)?;
    created = permit(created, &open.files, in_file)?;
    // Where output goes to be forgotten.
    created = permit_at(
        created,
        Path::new("/dev/null"),
        make_bitflags!(AccessFs::{ReadFile | WriteFile}),
    )?;
    if profile == Profile::ReadOnly {
        created = permit_at(created, Path::new("/dev"), AccessFs::ReadDir.into())?;
        for device in HARMLESS {
            created = permit_at(created, Path::new(device), AccessFs::ReadFile.into())?;
        }
    }
    if let Some(temporary) = temporary {
        let own = make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir
        });
        created = permit_at(created, temporary, own)?;
    }
    created.restrict_self()
}

fn permit(
    mut created: RulesetCreated,
    entries: &[OwnedFd],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for entry in entries {
        created = created.add_rule(PathBeneath::new(entry, access))?;
    }
    Ok(created)
}

/// What is not there needs no permission.
fn permit_at(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(entry) => created.add_rule(PathBeneath::new(entry, access)),
        Err(_) => Ok(created),
    }
}
