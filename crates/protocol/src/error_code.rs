//! The closed set of error codes that a model or a user meets, each with a page under `docs/errors/`.

use crate::word::words;

words! {
    /// Why a tool did not answer with data.
    ErrorCode {
        /// The resource was not discovered in this session.
        StrictResolution = "STRICT_RESOLUTION",
        /// The execution's state does not allow this now.
        FsmBlocked = "FSM_BLOCKED",
        /// The resource does not exist.
        NotFound = "NOT_FOUND",
        /// This session, level or resource does not permit the action.
        ActionNotAllowed = "ACTION_NOT_ALLOWED",
        /// A policy forbids it.
        PolicyBlocked = "POLICY_BLOCKED",
        /// A human must approve first.
        ApprovalRequired = "APPROVAL_REQUIRED",
        /// The arguments are not what the tool takes.
        InvalidInput = "INVALID_INPUT",
        /// It ran and failed.
        ExecutionFailed = "EXECUTION_FAILED",
        /// The call names a host while something on that host is meant.
        RoutingMismatch = "ROUTING_MISMATCH",
        /// The read tool was given what is not provably a bounded read.
        ReadOnlyViolation = "READ_ONLY_VIOLATION",
        /// The answer claims what no tool call of the session shows.
        UnsupportedClaim = "UNSUPPORTED_CLAIM",
        /// Too many calls in too short a time.
        RateLimited = "RATE_LIMITED",
        /// It did not end in its time.
        Timeout = "TIMEOUT",
        /// The same call again and again.
        LoopDetected = "LOOP_DETECTED",
        /// Someone stopped it.
        Cancelled = "CANCELLED",
    }
}

impl ErrorCode {
    /// Whether a model can usually get past it by itself, by doing what the details say.
    ///
    /// A refusal may know better: this is what holds where nothing else is said.
    pub const fn auto_recoverable(self) -> bool {
        match self {
            Self::StrictResolution
            | Self::FsmBlocked
            | Self::ApprovalRequired
            | Self::RoutingMismatch
            | Self::ReadOnlyViolation
            | Self::UnsupportedClaim
            | Self::LoopDetected => true,
            Self::NotFound
            | Self::ActionNotAllowed
            | Self::PolicyBlocked
            | Self::InvalidInput
            | Self::ExecutionFailed
            | Self::RateLimited
            | Self::Timeout
            | Self::Cancelled => false,
        }
    }

    /// The page about this code, from the root of the repository.
    pub fn docs_path(self) -> String {
        format!("docs/errors/{}.md", self.as_str())
    }
}
