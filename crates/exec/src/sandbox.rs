//! What held a process.

use interlock_confine::{Held, Profile};
use interlock_protocol::{SandboxWall, SocketKind, ToolKind, WallKind};

/// The profile of a plan of this kind.
pub(crate) const fn profile_of(kind: ToolKind) -> Profile {
    match kind {
        ToolKind::Resolve | ToolKind::Read => Profile::ReadOnly,
        ToolKind::Write => Profile::ReadWrite,
    }
}

/// What held a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sandbox {
    /// The sandbox of this profile.
    Enforced {
        /// What the process could change.
        profile: Profile,
        /// The kinds of sockets that a read could open.
        sockets: Vec<SocketKind>,
        /// What the kernel is too old to enforce.
        missing: Vec<String>,
    },
    /// Nothing but the permissions of the user.
    None {
        /// Why.
        reason: String,
    },
}

impl Sandbox {
    pub(crate) fn new(profile: Profile, sockets: Vec<SocketKind>, held: Held) -> Self {
        match held {
            Held::Enforced { missing } => Self::Enforced {
                profile,
                sockets,
                missing,
            },
            Held::None { reason } => Self::None { reason },
        }
    }

    /// The wall that it is for a reading.
    pub fn wall(&self) -> SandboxWall {
        match self {
            Self::Enforced {
                profile: Profile::ReadOnly,
                sockets,
                missing,
            } => SandboxWall::Enforced {
                by: WallKind::LandlockSeccomp,
                sockets: sockets.clone(),
                missing: missing.clone(),
            },
            Self::Enforced {
                profile: Profile::ReadWrite,
                ..
            } => SandboxWall::None {
                reason: "the command was permitted to write".to_owned(),
            },
            Self::None { reason } => SandboxWall::None {
                reason: reason.clone(),
            },
        }
    }
}
