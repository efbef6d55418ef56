//! Whether a write did what it was for. About the written resource and a reading taken afterwards; about nothing
//! else.

use interlock_protocol::{
    ContentHash, EvidenceId, Expectation, Identity, Observation, PermitId, ReceiptId, ResourceId,
    RunIdentity, RunState, UnitActivity, Verification,
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
    /// What code observed right before the write, where the comparison needs it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<Observation>,
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
    /// What code observed right before the write.
    pub baseline: &'a [Observation],
}

/// One reading of a written resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look<'a> {
    /// What it saw.
    pub observations: &'a [Observation],
    /// When it began, by the clock that also says when the write began.
    pub taken_at: Timestamp,
    /// Whether it shows the state of the resource. A log or a list does not.
    pub shows_state: bool,
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
pub fn compare(expectation: &Expectation, look: Look<'_>, before: Before<'_>) -> Comparison {
    if *expectation == Expectation::FreeForm {
        return if look.shows_state {
            Comparison::Conclusive(Verification::Observed)
        } else {
            Comparison::NotYet
        };
    }
    let mut answer = Comparison::NotYet;
    for observation in look.observations {
        match (
            compare_one(expectation, observation, look.taken_at, before),
            answer,
        ) {
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

/// How far two counts of seconds may differ and still be of one run.
const SLACK: i64 = 3;

/// Something runs: whether in another run than before the write. Only counts of its own machine are compared, and how much
/// time has passed here; the clocks of two machines never are.
fn other_run(now: &RunIdentity, was: Was<'_>, taken_at: Timestamp, before: Before<'_>) -> Comparison {
    let was = match was {
        // It did not run before the write, so this run began after it.
        Was::Down => return VERIFIED,
        Was::Up(run) => Some(run),
        Was::Unknown => None,
    };
    let seconds_before = was.and_then(|run| run.seconds);
    if let (Some(now), Some(then)) = (now.seconds, seconds_before)
        && now < then
    {
        return VERIFIED;
    }
    if let (Some(now), Some(then)) = (&now.id, was.and_then(|run| run.id.as_ref())) {
        return if now == then {
            Comparison::Unchanged
        } else {
            VERIFIED
        };
    }
    let passed = taken_at.duration_since(before.started_at).as_secs();
    let Some(now) = now.seconds.and_then(|seconds| i64::try_from(seconds).ok()) else {
        return Comparison::NotYet;
    };
    if now + 1 < passed {
        // It runs for less time than has passed since the write began.
        return VERIFIED;
    }
    match seconds_before.and_then(|seconds| i64::try_from(seconds).ok()) {
        Some(then) if now + SLACK >= then.saturating_add(passed) => Comparison::Unchanged,
        Some(_) | None => Comparison::NotYet,
    }
}

/// What a baseline says about a run.
#[derive(Clone, Copy)]
enum Was<'a> {
    /// It did not run.
    Down,
    /// It did, in this run.
    Up(&'a RunIdentity),
    /// Nothing that helps.
    Unknown,
}

impl<'a> Before<'a> {
    /// The run that a guest or container was in.
    fn run(self) -> Was<'a> {
        let seen = self.baseline.iter().find_map(|observation| match observation {
            Observation::Guest { state, run, .. } | Observation::Container { state, run, .. } => {
                Some((*state, run))
            }
            _ => None,
        });
        match seen {
            Some((RunState::Stopped | RunState::Failed, _)) => Was::Down,
            Some((_, run)) if !run.is_unknown() => Was::Up(run),
            Some(_) | None => Was::Unknown,
        }
    }

    /// The run that a unit was in.
    fn unit_run(self, name: &str) -> Was<'a> {
        let seen = self.baseline.iter().find_map(|observation| match observation {
            Observation::Unit {
                unit, activity, run, ..
            } if unit == name => Some((*activity, run)),
            _ => None,
        });
        match seen {
            Some((UnitActivity::Inactive | UnitActivity::Failed, _)) => Was::Down,
            Some((_, run)) if !run.is_unknown() => Was::Up(run),
            Some(_) | None => Was::Unknown,
        }
    }

    /// The container as it was: the name of its image, and which container it was.
    fn container(self) -> Option<(Option<&'a str>, Option<&'a str>)> {
        self.baseline.iter().find_map(|observation| match observation {
            Observation::Container { image, instance, .. } => Some((image.as_deref(), instance.as_deref())),
            _ => None,
        })
    }
}

/// A container that was to be made again from what an image name stands for. A name proves nothing: the same tag names other
/// content tomorrow. The ids of the container and of its content decide.
fn image(want: Option<&str>, seen: &Observation, before: Before<'_>) -> Comparison {
    let Observation::Container {
        state,
        image: Some(name),
        instance,
        image_id,
        current_image_id,
        ..
    } = seen
    else {
        return Comparison::NotYet;
    };
    let was = before.container();
    let Some(want) = want.or_else(|| was.and_then(|(name, _)| name)) else {
        return Comparison::NotYet;
    };
    if name != want {
        let as_before = match was {
            Some((Some(was), _)) => was == name,
            Some((None, _)) | None => before.may_be(*state),
        };
        return contradicts(state.is_settled(), as_before);
    }
    let made_again = match (was, instance) {
        (Some((_, Some(was))), Some(now)) => Some(was != now),
        _ => None,
    };
    let current = match (image_id, current_image_id) {
        (Some(runs), Some(named)) => Some(runs == named),
        _ => None,
    };
    match (made_again, current) {
        (Some(false), _) => contradicts(state.is_settled(), true),
        (Some(true), Some(true)) => settled(*state == RunState::Running, state.is_settled()),
        (Some(true), Some(false)) => contradicts(state.is_settled(), false),
        // A digest names one content for ever.
        (None, Some(true)) if want.contains("@sha256:") => {
            settled(*state == RunState::Running, state.is_settled())
        }
        (Some(true), None) | (None, _) => Comparison::NotYet,
    }
}

fn compare_one(
    expectation: &Expectation,
    observation: &Observation,
    taken_at: Timestamp,
    before: Before<'_>,
) -> Comparison {
    match (expectation, observation) {
        (Expectation::GuestState { state: want }, Observation::Guest { state, .. })
        | (Expectation::ContainerState { state: want }, Observation::Container { state, .. }) => {
            if state == want {
                VERIFIED
            } else {
                contradicts(state.is_settled(), before.may_be(*state))
            }
        }
        (Expectation::GuestRestarted, Observation::Guest { state, run, .. })
        | (Expectation::ContainerRestarted, Observation::Container { state, run, .. }) => match state {
            RunState::Running => other_run(run, before.run(), taken_at, before),
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
                unit, activity, run, ..
            },
        ) if unit == want => match activity {
            UnitActivity::Active => other_run(run, before.unit_run(unit), taken_at, before),
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
        (Expectation::FileAppended { path: want, .. }, Observation::File { path, hash }) if path == want => {
            appended(path, hash.as_ref(), before)
        }
        (Expectation::ContainerImage { image: want }, Observation::Container { .. }) => {
            image(Some(want), observation, before)
        }
        (Expectation::ContainerUpdated, Observation::Container { .. }) => image(None, observation, before),
        (Expectation::ReadyReplicas { count }, Observation::Replicas { ready, wanted, .. }) => {
            settled(ready == count && wanted == count, wanted != count)
        }
        (Expectation::RolledOut, Observation::Replicas { .. }) => rolled_out(observation, before),
        (Expectation::Replaced, Observation::Identity { uid }) => replaced(uid, before),
        (Expectation::NoteKept { text: want }, Observation::Note { text }) if text == want => VERIFIED,
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
        (Expectation::Absent | Expectation::Replaced, Observation::Absent)
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

/// The path of a file and its hash, if an observation is about one.
type PickFile = fn(&Observation) -> Option<(&str, Option<&ContentHash>)>;

/// A file that was to grow: what it must be now was worked out right before the write, where the file is.
fn appended(path: &str, hash: Option<&ContentHash>, before: Before<'_>) -> Comparison {
    let baseline = |pick: PickFile| {
        before
            .baseline
            .iter()
            .filter_map(pick)
            .find(|(of, _)| *of == path)
            .map(|(_, hash)| hash)
    };
    let after = baseline(|seen| match seen {
        Observation::FileAfter { path, hash } => Some((path, Some(hash))),
        _ => None,
    });
    let was = baseline(|seen| match seen {
        Observation::File { path, hash } => Some((path, hash.as_ref())),
        _ => None,
    });
    match after {
        None => Comparison::NotYet,
        Some(after) if after == hash => VERIFIED,
        Some(_) if was == Some(hash) => Comparison::Unchanged,
        Some(_) => FAILED,
    }
}

/// A workload whose replicas were to be made from a new specification. Its own numbers decide, no clock.
fn rolled_out(seen: &Observation, before: Before<'_>) -> Comparison {
    let generation = |observation: &Observation| match observation {
        Observation::Replicas { generation, .. } => *generation,
        _ => None,
    };
    let Some(was) = before.baseline.iter().find_map(generation) else {
        return Comparison::NotYet;
    };
    match seen {
        Observation::Replicas {
            generation: Some(now),
            ..
        } if *now <= was => Comparison::Unchanged,
        Observation::Replicas {
            ready,
            wanted,
            updated: Some(updated),
            generation: Some(now),
            observed_generation: Some(observed),
        } if observed >= now && updated == wanted && ready == wanted => VERIFIED,
        _ => Comparison::NotYet,
    }
}

fn replaced(uid: &str, before: Before<'_>) -> Comparison {
    let was = before.baseline.iter().find_map(|observation| match observation {
        Observation::Identity { uid } => Some(uid.as_str()),
        _ => None,
    });
    match was {
        Some(was) if was == uid => Comparison::Unchanged,
        Some(_) => VERIFIED,
        None => Comparison::NotYet,
    }
}
