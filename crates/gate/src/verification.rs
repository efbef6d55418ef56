//! Whether a write did what it was for. About the written resource and a reading taken afterwards; about nothing
//! else.

use interlock_protocol::{
    EvidenceId, Expectation, Identity, Observation, PermitId, ReceiptId, ResourceId, RunState, Verification,
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
    /// The machine that was written to. A reading of another one does not count.
    #[serde(default, skip_serializing_if = "Identity::is_empty")]
    pub identity: Identity,
    /// The state that discovery had seen before the write, where it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_before: Option<String>,
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
    /// It shows what was there before the write. The change may still come: only at the deadline is it `failed`.
    Unchanged,
    /// It does not end it: still changing, or about something else.
    NotYet,
}

/// What is known of a resource from before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before<'a> {
    /// When the write began.
    pub started_at: Timestamp,
    /// The state that discovery had seen, where it had.
    pub state: Option<&'a str>,
}

impl Before<'_> {
    /// Whether a settled state can be the one from before the write. A state that nobody saw can be any.
    fn may_be(self, state: RunState) -> bool {
        self.known().is_none_or(|known| known == state)
    }

    /// Whether a settled state is known to be the one from before the write.
    fn is(self, state: RunState) -> bool {
        self.known() == Some(state)
    }

    fn known(self) -> Option<RunState> {
        let word = self.state?;
        RunState::ALL
            .iter()
            .copied()
            .find(|state| state.as_str().eq_ignore_ascii_case(word))
    }
}

/// Compares what a reading saw with what was expected of a write.
pub fn compare(expectation: &Expectation, observations: &[Observation], before: Before<'_>) -> Comparison {
    if *expectation == Expectation::FreeForm {
        return Comparison::Conclusive(Verification::Observed);
    }
    let mut answer = Comparison::NotYet;
    for observation in observations {
        match (compare_one(expectation, observation, before), answer) {
            // One observation that contradicts outweighs any that agree.
            (failed @ Comparison::Conclusive(Verification::Failed), _) => return failed,
            (Comparison::NotYet, _) | (Comparison::Conclusive(_), Comparison::Unchanged) => {}
            (other @ (Comparison::Unchanged | Comparison::Conclusive(_)), _) => answer = other,
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

/// What is settled and not as expected: as it was before, or failed.
const fn contradicts(is_settled: bool, as_before: bool) -> Comparison {
    match (is_settled, as_before) {
        (false, _) => Comparison::NotYet,
        (true, true) => Comparison::Unchanged,
        (true, false) => FAILED,
    }
}

fn since(at: Option<Timestamp>, before: Before<'_>) -> Comparison {
    match at {
        Some(at) if at >= before.started_at => VERIFIED,
        Some(_) => Comparison::Unchanged,
        // It runs, but since when is not known: neither proof nor disproof.
        None => Comparison::NotYet,
    }
}

fn compare_one(expectation: &Expectation, observation: &Observation, before: Before<'_>) -> Comparison {
    use interlock_protocol::UnitActivity;
    match (expectation, observation) {
        (Expectation::GuestState { state: want }, Observation::Guest { state, .. })
        | (Expectation::ContainerState { state: want }, Observation::Container { state, .. }) => {
            if state == want {
                VERIFIED
            } else {
                contradicts(state.is_settled(), before.may_be(*state))
            }
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
            RunState::Running => since(*at, before),
            other => contradicts(other.is_settled(), before.is(*other)),
        },
        (
            Expectation::UnitActivity {
                unit: want,
                activity: wanted,
            },
            Observation::Unit { unit, activity, .. },
        ) if unit == want => {
            if activity == wanted {
                VERIFIED
            } else {
                // What a unit did before the write is not part of what discovery sees of its host.
                contradicts(activity.is_settled(), true)
            }
        }
        (
            Expectation::UnitRestarted { unit: want },
            Observation::Unit {
                unit,
                activity,
                active_since,
            },
        ) if unit == want => match activity {
            UnitActivity::Active => since(*active_since, before),
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
        ) => {
            if image == want {
                settled(*state == RunState::Running, state.is_settled())
            } else {
                contradicts(state.is_settled(), before.may_be(*state))
            }
        }
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
        // It was there before the write.
        (Expectation::Absent, Observation::Guest { state, .. } | Observation::Container { state, .. }) => {
            contradicts(state.is_settled(), true)
        }
        (Expectation::Absent, Observation::Present) | (Expectation::Present, Observation::Absent) => {
            Comparison::Unchanged
        }
        // What was written to is gone: no state of it can be as expected any more.
        (_, Observation::Absent) => FAILED,
        _ => Comparison::NotYet,
    }
}
