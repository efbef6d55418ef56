//! What people asked for and did not get. Every such refusal is in the audit log and is counted.
//!
//! The errors themselves are typed and explain themselves ([`Error`]). A failure (a full disk, an unknown session) is not a
//! refusal and is not recorded here.

use interlock_protocol::UserId;
use interlock_store::Error as StoreError;
use serde_json::{Value, json};

use crate::count;
use crate::engine::Inner;
use crate::error::Error;

/// What a person wanted to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Call a tool.
    Call,
    /// Change the plan of a hold.
    Edit,
    /// Approve a hold, or open it for that.
    Approve,
    /// Deny a hold, or begin to change its plan.
    Decide,
    /// Let writes go again.
    ResumeWrites,
    /// Acknowledge, resolve or reopen an incident.
    MoveIncident,
}

impl Act {
    /// What the refusal is called in the audit log.
    const fn action(self) -> &'static str {
        match self {
            Self::Call => "session.call_refused",
            Self::Edit => "hold.edit_refused",
            Self::Approve => "hold.approval_refused",
            Self::Decide => "hold.decision_refused",
            Self::ResumeWrites => "writes.resume_refused",
            Self::MoveIncident => "incident.move_refused",
        }
    }

    /// One stable word, for the counter.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Edit => "edit",
            Self::Approve => "approve",
            Self::Decide => "decide",
            Self::ResumeWrites => "resume_writes",
            Self::MoveIncident => "move_incident",
        }
    }
}

/// Why an error is a refusal, in one stable word; nothing if it is a failure.
fn why(error: &Error) -> Option<&'static str> {
    match error {
        Error::Refused(_) => Some("gate"),
        Error::Secret { .. } => Some("secret"),
        Error::NotNow(_)
        | Error::Store(StoreError::WrongStatus { .. } | StoreError::IncidentStands { .. }) => Some("not_now"),
        Error::Store(
            StoreError::HoldDecided(_)
            | StoreError::HoldChanged(_)
            | StoreError::HoldUsed(_)
            | StoreError::TokenUsed(_),
        ) => Some("decided"),
        Error::Store(StoreError::StoppedAgain(_)) => Some("stopped_again"),
        Error::Store(StoreError::Altered { .. }) => Some("altered"),
        Error::Store(_)
        | Error::Model(_)
        | Error::Prompt(_)
        | Error::Offer(_)
        | Error::Random(_)
        | Error::Unknown { .. }
        | Error::NoModel
        | Error::Unreadable { .. }
        | Error::Unwritable { .. }
        | Error::Name(_) => None,
    }
}

impl Inner {
    /// Records and counts that a person was refused; `facts` is what is known beside the error. Gives the error back.
    pub(crate) async fn refuse_person(
        &self,
        by: &UserId,
        act: Act,
        subject: &str,
        mut facts: Value,
        error: Error,
    ) -> Error {
        let Some(because) = why(&error) else {
            return error;
        };
        count::person_refused(act.as_str(), because);
        facts["because"] = json!(because);
        match &error {
            Error::Refused(refusal) => {
                facts["rule"] = json!(refusal.rule);
                facts["code"] = json!(refusal.code);
                facts["reason"] = json!(refusal.message);
            }
            // The names alone: the values are what must not be kept.
            Error::Secret { names } => facts["arguments"] = json!(names),
            other => facts["reason"] = json!(self.settings().masker.mask_text(&other.to_string())),
        }
        let subject = (!subject.is_empty()).then_some(subject);
        if let Err(failed) = self.audit(by, act.action(), subject, facts).await {
            // It stays refused: that is the safe side.
            tracing::error!(%by, act = act.as_str(), because, error = %failed, "a refusal could not be recorded");
        }
        error
    }
}
