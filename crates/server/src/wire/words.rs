//! Closed sets of words on the wire.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident = $of:path { $($variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the words are explained where they are defined")]
        pub enum $name { $($variant),+ }

        impl From<$of> for $name {
            fn from(word: $of) -> Self {
                type Of = $of;
                match word { $(Of::$variant => Self::$variant),+ }
            }
        }

        impl From<$name> for $of {
            fn from(word: $name) -> Self {
                type Of = $of;
                match word { $($name::$variant => Of::$variant),+ }
            }
        }
    };
}

mirror! {
    /// Where a session, a stage or an agent stands.
    Status = interlock_protocol::Status {
        Pending, InProgress, Held, Cancelling, Completed, Unverified, Failed, Cancelled, TimedOut,
    }
}
mirror! {
    /// What a session is a run of.
    SessionKind = interlock_protocol::SessionKind { Chain, Chat }
}
mirror! {
    /// What a person may do; each role may do what those before it may.
    Role = interlock_protocol::Role { Viewer, Operator, Approver, Admin }
}
mirror! {
    /// How much may happen without a human.
    ControlLevel = interlock_protocol::ControlLevel { ReadOnly, Controlled, Autonomous }
}
mirror! {
    /// What a tool does to the world.
    ToolKind = interlock_protocol::ToolKind { Resolve, Read, Write }
}
mirror! {
    /// How much harm it can do.
    RiskLevel = interlock_protocol::RiskLevel { Low, Medium, High }
}
mirror! {
    /// How a call ended.
    Outcome = interlock_protocol::Outcome { Succeeded, Failed, TimedOut, InterruptedUnknown, Cancelled }
}
mirror! {
    /// How the effect of a write compares with what was expected.
    Verification = interlock_protocol::Verification { Verified, Failed, Observed, Inconclusive }
}
mirror! {
    /// What the readings of a session say about an answer as a whole.
    Support = interlock_protocol::Support { Unsupported, Partial, Matched, Unchecked }
}
mirror! {
    /// What of a model's text was withheld: all of it because of a claim that nothing shows, or the rest of a long one.
    Withheld = interlock_protocol::Withheld { Claim, Rest }
}
mirror! {
    /// Why a write that was proposed did not run.
    NotRunReason = interlock_protocol::NotRunReason { Denied, Expired, Withdrawn, Refused }
}
mirror! {
    /// What the seal of a session says about its rows.
    RecordState = interlock_protocol::RecordState { Signed, InProgress, Older, Unsigned, Altered }
}
mirror! {
    /// What a sentence of a head is.
    HeadTone = interlock_protocol::HeadTone { Verified, Failed, Unknown, Fact }
}
mirror! {
    /// How a call to a model failed.
    FailureKind = interlock_model::Kind {
        RateLimited, Quota, Overloaded, TimeoutFirstChunk, TimeoutStall, TimeoutCall, Credentials, InvalidRequest,
        ContextTooLong, Transport, Malformed, TooLarge, Degenerate, Empty, Blocked, Cancelled, ScriptEnded, ScriptMismatch,
    }
}

/// What an API token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Look.
    Read,
    /// Ask, submit, stop.
    Operate,
    /// Decide about what waits for a human.
    Approve,
    /// People and tokens.
    Admin,
}
mirror! {
    /// How bad an incident is.
    Severity = interlock_protocol::Severity { Critical, Warning, Info }
}
mirror! {
    /// Where an incident stands.
    IncidentStatus = interlock_protocol::IncidentStatus { Open, Acknowledged, Mitigated, Resolved }
}
mirror! {
    /// What happened to an incident.
    IncidentEventKind = interlock_protocol::IncidentEventKind {
        Opened, Repeated, Reopened, SessionStarted, Acknowledged, Mitigated, AlertResolved, Resolved, HoldsWithdrawn,
    }
}
