//! The rules, by name and in the order in which they are asked.

/// A rule of the gate. The order of the variants is the order in which [`crate::Gate::decide`] asks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The tool is in the catalogue.
    ToolKnown,
    /// This session may use the tool.
    ToolAllowed,
    /// The arguments fit the tool's schema.
    Arguments,
    /// The execution's state allows a call of this kind.
    StateMachine,
    /// The call does not repeat the one before.
    Repetition,
    /// The target was discovered in this session.
    StrictResolution,
    /// Nobody else is writing to the target.
    OneWriter,
    /// The target is not the host of something that was explicitly accessed.
    Routing,
    /// The command does what its tool is for.
    CommandIntent,
    /// Where a sandbox is required, the target offers one.
    ReadSandbox,
    /// The mode allows the tool.
    Mode,
    /// The category is allowed.
    Category,
    /// The arguments are within governance's bounds.
    ArgumentRule,
    /// The tool was not called too often.
    RateLimit,
    /// Not too much is touched at once.
    BlastRadius,
    /// There is budget left.
    Budget,
    /// No policy denies it.
    Policy,
    /// Writes are not stopped.
    KillSwitch,
    /// The control level admits writes.
    ControlLevel,
    /// A human decides.
    Approval,
    /// A hold is decided once, in time, by the right person, with its token, for its plan.
    Hold,
    /// The approved plan still meets the resource it was made for.
    LiveState,
    /// A permit is used within its time.
    PermitExpiry,
    /// The final answer waits for every write to be looked at.
    FinalAnswer,
}

impl Rule {
    /// Every rule, in order.
    pub const ALL: &'static [Self] = &[
        Self::ToolKnown,
        Self::ToolAllowed,
        Self::Arguments,
        Self::StateMachine,
        Self::Repetition,
        Self::StrictResolution,
        Self::OneWriter,
        Self::Routing,
        Self::CommandIntent,
        Self::ReadSandbox,
        Self::Mode,
        Self::Category,
        Self::ArgumentRule,
        Self::RateLimit,
        Self::BlastRadius,
        Self::Budget,
        Self::Policy,
        Self::KillSwitch,
        Self::ControlLevel,
        Self::Approval,
        Self::Hold,
        Self::LiveState,
        Self::PermitExpiry,
        Self::FinalAnswer,
    ];

    /// The stable word, as it appears in JSON, labels and the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolKnown => "tool_known",
            Self::ToolAllowed => "tool_allowed",
            Self::Arguments => "arguments",
            Self::StateMachine => "state_machine",
            Self::Repetition => "repetition",
            Self::StrictResolution => "strict_resolution",
            Self::OneWriter => "one_writer",
            Self::Routing => "routing",
            Self::CommandIntent => "command_intent",
            Self::ReadSandbox => "read_sandbox",
            Self::Mode => "mode",
            Self::Category => "category",
            Self::ArgumentRule => "argument_rule",
            Self::RateLimit => "rate_limit",
            Self::BlastRadius => "blast_radius",
            Self::Budget => "budget",
            Self::Policy => "policy",
            Self::KillSwitch => "kill_switch",
            Self::ControlLevel => "control_level",
            Self::Approval => "approval",
            Self::Hold => "hold",
            Self::LiveState => "live_state",
            Self::PermitExpiry => "permit_expiry",
            Self::FinalAnswer => "final_answer",
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
