//! What the kernel lets a child do, by Landlock: no privilege needed, inherited by everything the child starts.
//!
//! Landlock knows only permission, from a folder downwards. So everything but the protected paths is permitted, entry by
//! entry along the way to each of them. Two things follow. The names in a folder on the way can be listed, those in a
//! protected folder too, but nothing protected can be opened. And a write cannot add, replace or remove an entry directly
//! in a folder on the way: a right to do so would hold in the protected folder as well. Where the superuser runs us,
//! protected folders are hidden as well (`hidden`), and a write then finds every other folder open. So keep what is
//! protected in a folder of its own.
//!
//! A process in a sandbox cannot look into one outside of it: no environment, memory or open file of ours. For the
//! superuser that takes giving up some capabilities as well (`capability`).

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use interlock_protocol::ToolKind;
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use serde::{Deserialize, Serialize};

use crate::capability;
use crate::protected::{Open, Protected};

/// What a child may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Nothing.
    ReadOnly,
    /// Everything but what is protected.
    ReadWrite,
}

impl Profile {
    /// The profile of a plan of this kind.
    pub const fn of(kind: ToolKind) -> Self {
        match kind {
            ToolKind::Resolve | ToolKind::Read => Self::ReadOnly,
            ToolKind::Write => Self::ReadWrite,
        }
    }
}

/// What to do where the kernel enforces no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPolicy {
    /// Run nothing.
    #[default]
    Required,
    /// Run, and say that there was none.
    WhereAvailable,
}

/// What held a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "enforced", rename_all = "snake_case")]
pub enum Sandbox {
    /// Everything that is asked of the sandbox.
    Full {
        /// What the child could change.
        profile: Profile,
    },
    /// Files as asked; the kernel is too old to keep it from driving devices or from sending signals to others.
    Files {
        /// What the child could change.
        profile: Profile,
    },
    /// Nothing but the permissions of the user.
    None {
        /// Why.
        reason: String,
    },
}

/// Reading, writing and truncating: below that it is no sandbox.
const NEEDED: ABI = ABI::V3;

/// Why a thread is not in its sandbox.
pub(crate) enum Outside {
    /// The kernel has none.
    NotThere(String),
    /// The kernel has one, and something went wrong on the way into it. Nothing may run then, whatever the policy: what
    /// is missing is not the kernel's to give.
    NotEntered(String),
}

/// Gives up, on this thread and for everything it starts from now on, what the profile does not permit. `Err` is why
/// that is not possible.
pub(crate) fn enter(profile: Profile, protected: &Protected) -> Result<Sandbox, Outside> {
    let there = is_there();
    try_enter(profile, protected).map_err(|reason| {
        if there {
            Outside::NotEntered(reason)
        } else {
            Outside::NotThere(reason)
        }
    })
}

/// Whether the kernel has what a sandbox needs. Asked once, early: asking takes an open file, and what is short of those
/// later must not pass for a kernel without a sandbox.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(NEEDED))
            .and_then(Ruleset::create)
            .is_ok()
    })
}

fn try_enter(profile: Profile, protected: &Protected) -> Result<Sandbox, String> {
    let places = match profile {
        // Closed and hidden.
        Profile::ReadOnly => {
            protected.resolve().hide();
            protected.resolve().with_disks()
        }
        Profile::ReadWrite => protected.resolve().hide(),
    };
    let open = places
        .open()
        .map_err(|error| format!("the protected paths cannot be told from the others: {error}"))?;
    // Before the restriction, which is for ever: what fails here leaves the thread as it was, or with less.
    capability::give_up(profile)
        .map_err(|error| format!("the superuser's capabilities cannot be given up: {error}"))?;
    let status = restrict(profile, &open).map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(Sandbox::Full { profile }),
        RulesetStatus::PartiallyEnforced => Ok(Sandbox::Files { profile }),
        RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".to_owned()),
    }
}

fn restrict(profile: Profile, open: &Open) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?;
    let ruleset = match profile {
        Profile::ReadOnly => ruleset.scope(Scope::Signal)?,
        // Ending a process is among what a write may be for.
        Profile::ReadWrite => ruleset,
    };
    let (in_folder, in_file) = match profile {
        Profile::ReadOnly => (
            AccessFs::from_read(NEEDED),
            make_bitflags!(AccessFs::{Execute | ReadFile}),
        ),
        Profile::ReadWrite => (AccessFs::from_all(ABI::V5), AccessFs::from_file(ABI::V5)),
    };
    let mut created = ruleset.create()?;
    created = permit(created, &open.on_the_way, AccessFs::ReadDir.into())?;
    created = permit(created, &open.folders, in_folder)?;
    created = permit(created, &open.files, in_file)?;
    // Where output goes to be forgotten.
    if let Ok(null) = landlock::PathFd::new("/dev/null") {
        created = created.add_rule(PathBeneath::new(
            null,
            make_bitflags!(AccessFs::{ReadFile | WriteFile}),
        ))?;
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
