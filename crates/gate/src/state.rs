//! Where an execution stands.

use interlock_protocol::ToolKind;

/// The state of one execution: `Resolving → Reading → Writing → Verifying → Reading`, and `Concluded` at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing was discovered or read yet.
    Resolving,
    /// Something is known; anything may be proposed.
    Reading,
    /// A write has a permit and no receipt.
    Writing,
    /// A write ended and its resource was not yet looked at.
    Verifying,
    /// The final answer was given.
    Concluded,
}

impl State {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Resolving,
        Self::Reading,
        Self::Writing,
        Self::Verifying,
        Self::Concluded,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolving => "resolving",
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Verifying => "verifying",
            Self::Concluded => "concluded",
        }
    }

    /// Whether a call of this kind may be permitted in this state.
    pub const fn admits(self, kind: ToolKind) -> bool {
        match (self, kind) {
            (Self::Concluded, _) | (Self::Resolving | Self::Writing | Self::Verifying, ToolKind::Write) => {
                false
            }
            (Self::Resolving | Self::Writing | Self::Verifying, ToolKind::Resolve | ToolKind::Read)
            | (Self::Reading, ToolKind::Resolve | ToolKind::Read | ToolKind::Write) => true,
        }
    }

    /// Whether a final answer may be given in this state.
    pub const fn admits_answer(self) -> bool {
        match self {
            Self::Resolving | Self::Reading => true,
            Self::Writing | Self::Verifying | Self::Concluded => false,
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
