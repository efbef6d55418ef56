//! Whether a write did what it was for. About the written resource and a reading taken afterwards; about nothing
//! else.

use interlock_protocol::{
    EvidenceId, Expectation, Observation, PermitId, ReceiptId, ResourceId, Verification,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A write whose resource was not yet looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingVerification {
    /// The permit of the write.
    pub permit: PermitId,
    /// Its receipt, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptId>,
    /// The written resource.
    pub resource: ResourceId,
    /// What must be observed.
    pub expectation: Expectation,
    /// When the write began.
    pub started_at: Timestamp,
    /// When it ended, or was found interrupted. A reading taken before does not count.
    pub ended_at: Timestamp,
    /// When code itself takes the reading.
    pub deadline: Timestamp,
    /// The session's order number of the end. A permit issued before does not count.
    #[serde(skip)]
    pub(crate) order: u64,
}

/// How a verification ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerificationEnd {
    /// The permit of the write.
    pub permit: PermitId,
    /// Its receipt, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptId>,
    /// The written resource.
    pub resource: ResourceId,
    /// What was to be observed.
    pub expectation: Expectation,
    /// What the comparison says.
    pub outcome: Verification,
    /// The reading that decided; nothing where the resource stayed unobservable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceId>,
    /// When.
    pub at: Timestamp,
}

impl PendingVerification {
    pub(crate) fn end(
        self,
        outcome: Verification,
        evidence: Option<EvidenceId>,
        at: Timestamp,
    ) -> VerificationEnd {
        VerificationEnd {
            permit: self.permit,
            receipt: self.receipt,
            resource: self.resource,
            expectation: self.expectation,
            outcome,
            evidence,
            at,
        }
    }
}

/// What one reading says about an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It ends the verification this way.
    Conclusive(Verification),
    /// It does not end it: still changing, or about something else.
    NotYet,
}

/// Compares what a reading saw with what was expected of a write that began at `started_at`.
pub fn compare(expectation: &Expectation, observations: &[Observation], started_at: Timestamp) -> Comparison {
    if *expectation == Expectation::FreeForm {
        return Comparison::Conclusive(Verification::Observed);
    }
    let mut answer = Comparison::NotYet;
    for observation in observations {
        match compare_one(expectation, observation, started_at) {
            Comparison::NotYet => {}
            // One observation that contradicts outweighs any that agree.
            failed @ Comparison::Conclusive(Verification::Failed) => return failed,
            conclusive @ Comparison::Conclusive(_) => answer = conclusive,
        }
    }
    answer
}

const VERIFIED: Comparison = Comparison::Conclusive(Verification::Verified);
const FAILED: Comparison = Comparison::Conclusive(Verification::Failed);

fn settled(agrees: bool, is_settled: bool) -> Comparison {
    match (agrees, is_settled) {
        (true, _) => VERIFIED,
        (false, true) => FAILED,
        (false, false) => Comparison::NotYet,
    }
}

fn since(at: Option<Timestamp>, started_at: Timestamp) -> Comparison {
    match at {
        Some(at) if at >= started_at => VERIFIED,
        Some(_) => FAILED,
        // It runs, but since when is not known: neither proof nor disproof.
        None => Comparison::NotYet,
    }
}

fn compare_one(expectation: &Expectation, observation: &Observation, started_at: Timestamp) -> Comparison {
    use interlock_protocol::{RunState, UnitActivity};
    match (expectation, observation) {
        (Expectation::GuestState { state: want }, Observation::Guest { state, .. })
        | (Expectation::ContainerState { state: want }, Observation::Container { state, .. }) => {
            settled(state == want, state.is_settled())
        }
        (
            Expectation::GuestRestarted,
            Observation::Guest {
                state,
                started_at: at,
            },
        )
        | (
            Expectation::ContainerRestarted,
            Observation::Container {
                state,
                started_at: at,
                ..
            },
        ) => match state {
            RunState::Running => since(*at, started_at),
            other => settled(false, other.is_settled()),
        },
        (
            Expectation::UnitActivity {
                unit: want,
                activity: wanted,
            },
            Observation::Unit { unit, activity, .. },
        ) if unit == want => settled(activity == wanted, activity.is_settled()),
        (
            Expectation::UnitRestarted { unit: want },
            Observation::Unit {
                unit,
                activity,
                active_since,
            },
        ) if unit == want => match activity {
            UnitActivity::Active => since(*active_since, started_at),
            other => settled(false, other.is_settled()),
        },
        (
            Expectation::FileHash {
                path: want,
                hash: wanted,
            },
            Observation::File { path, hash },
        ) if path == want => settled(hash.as_ref() == Some(wanted), true),
        (Expectation::FileAbsent { path: want }, Observation::File { path, hash }) if path == want => {
            settled(hash.is_none(), true)
        }
        (
            Expectation::ContainerImage { image: want },
            Observation::Container {
                image: Some(image),
                state,
                ..
            },
        ) => settled(image == want && *state == RunState::Running, state.is_settled()),
        (Expectation::ReadyReplicas { count }, Observation::Replicas { ready, wanted }) => {
            settled(ready == count && wanted == count, wanted != count)
        }
        (Expectation::AlertState { state: want }, Observation::Alert { state }) => {
            settled(state == want, true)
        }
        (
            Expectation::Property {
                name: want,
                value: wanted,
            },
            Observation::Property { name, value },
        ) if name == want => settled(value == wanted, true),
        (Expectation::Absent, Observation::Absent)
        | (
            Expectation::Present,
            Observation::Present | Observation::Guest { .. } | Observation::Container { .. },
        ) => VERIFIED,
        (Expectation::Absent, Observation::Guest { state, .. } | Observation::Container { state, .. }) => {
            settled(false, state.is_settled())
        }
        // What was written to is gone: no state of it can be as expected any more.
        (_, Observation::Absent) | (Expectation::Absent, Observation::Present) => FAILED,
        _ => Comparison::NotYet,
    }
}
