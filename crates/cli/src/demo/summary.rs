//! What an incident came to: read from the record and from the oracle, never from the model's words.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use interlock_engine::Trace;
use interlock_protocol::{Decision, EventBody, Outcome, Status, ToolKind, Verification};
use interlock_store::Call;
use serde::Serialize;

use super::lab::{Incident, Isolation, Verdict};
use super::story::short;
use crate::Ending;
use crate::assemble::Assembled;
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::grounds;
use crate::report::{Facts, Report};
use crate::terminal::{Paint, Tone, visible};

/// What an incident came to.
#[derive(Serialize)]
pub(super) struct Played {
    incident: String,
    /// Whether the oracle says that the incident is over.
    resolved: bool,
    /// Whether every write was observed as expected, and there was one.
    verified: bool,
    /// Why it did not end well.
    reason: Option<String>,
    status: Status,
    /// How the lab's machines were kept apart.
    isolation: Isolation,
    counts: Counts,
    oracle: Verdict,
    /// Whether every question to the gate, asked again, has the same answer.
    proof: Proof,
    elapsed_ms: u64,
}

/// How many of what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Counts {
    proposals: usize,
    refused: usize,
    held: usize,
    executed: usize,
    writes: usize,
    verified: usize,
}

/// What the record says when it is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Proof {
    decisions: usize,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    played: &'a Played,
    session: Report<'a>,
}

impl Proof {
    /// What it says, in a sentence.
    pub(super) fn sentence(&self) -> String {
        if self.problems.is_empty() {
            format!("{} decisions asked again, all the same.", self.decisions)
        } else {
            format!("The record does not replay: {}.", self.problems.join("; "))
        }
    }
}

/// Asks every question of the session's record again.
pub(super) async fn proof(assembled: &Assembled, facts: &Facts) -> Proof {
    let mut proof = Proof {
        decisions: 0,
        problems: Vec::new(),
    };
    for run in &facts.runs {
        let session = &facts.session.submitted.id;
        let checked = match Trace::of(assembled.store(), session, run.clone()).await {
            Ok(trace) => trace.check(assembled.store().keyring()),
            Err(error) => Err(error),
        };
        match checked {
            Ok(traced) if traced.holds() => proof.decisions += traced.replayed.decisions,
            Ok(_) => proof.problems.push(format!("{} does not replay", run.id)),
            Err(error) => proof.problems.push(error.to_string()),
        }
    }
    proof
}

impl Counts {
    fn of(facts: &Facts) -> Self {
        let mut counts = Self::default();
        for event in &facts.events {
            match &event.body {
                EventBody::ProposalReceived { .. } => counts.proposals += 1,
                EventBody::DecisionMade {
                    decision: Decision::Refused(_),
                    ..
                } => counts.refused += 1,
                EventBody::HoldOpened { .. } => counts.held += 1,
                EventBody::ReceiptRecorded { receipt } => {
                    counts.executed += 1;
                    counts.writes += usize::from(receipt.kind == ToolKind::Write);
                }
                EventBody::VerificationCompleted {
                    outcome: Verification::Verified,
                    ..
                } => counts.verified += 1,
                _ => {}
            }
        }
        counts
    }
}

/// Whether something was written, and the last write to each resource is as expected, or at least was looked at.
fn verified(facts: &Facts) -> bool {
    let mut last = BTreeMap::new();
    for call in &facts.calls {
        if call.started.plan.kind == ToolKind::Write {
            last.insert(call.started.plan.resource(), call);
        }
    }
    let ended = |call: &&Call, wanted: &[Verification]| {
        let succeeded = call
            .receipt
            .as_ref()
            .is_some_and(|receipt| receipt.outcome == Outcome::Succeeded);
        succeeded && call.verification.is_some_and(|found| wanted.contains(&found))
    };
    last.values().any(|call| ended(call, &[Verification::Verified]))
        && last
            .values()
            .all(|call| ended(call, &[Verification::Verified, Verification::Observed]))
}

impl Played {
    pub(super) fn new(
        incident: &Incident,
        isolation: Isolation,
        facts: &Facts,
        oracle: Verdict,
        proof: Proof,
        elapsed: Duration,
    ) -> Self {
        let counts = Counts::of(facts);
        let verified = verified(facts);
        let status = facts.session.status;
        let reason = if !proof.problems.is_empty() {
            Some(format!(
                "the record does not prove itself: {}",
                proof.problems.join("; ")
            ))
        } else if let Some(reason) = oracle.reason() {
            let waiting = if status == Status::Held {
                "; a plan waits for approval (play it on a terminal, or with --yes)"
            } else {
                ""
            };
            Some(format!(
                "the oracle says that the incident is not over: {reason}{waiting}"
            ))
        } else if !verified {
            Some("the incident is over, but no action was verified".to_owned())
        } else if status != Status::Completed {
            Some(format!("the session ended as {status}"))
        } else {
            None
        };
        Self {
            incident: incident.name.clone(),
            resolved: oracle.resolved,
            verified,
            reason,
            status,
            isolation,
            counts,
            oracle,
            proof,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(super) const fn ending(&self) -> Ending {
        if self.reason.is_none() {
            Ending::Done
        } else {
            Ending::Unsuccessful
        }
    }

    /// Says it: the answer on standard output, the rest on standard error.
    pub(super) fn tell(&self, globals: &Globals, facts: &Facts) -> Result<(), Failure> {
        if globals.json {
            let document = Document {
                played: self,
                session: facts.report(),
            };
            return globals.print(&document, |_| String::new());
        }
        let paint = globals.paint(&io::stderr());
        say("");
        crate::answer::print(globals, &facts.head, facts.session.answer.as_deref())?;
        if let Some(grounds) = grounds::render(&facts.grounds, paint) {
            say(&grounds);
        }
        say(&self.render(paint, facts));
        Ok(())
    }

    fn render(&self, paint: Paint, facts: &Facts) -> String {
        let mut text = paint.paint(Tone::Strong, "\nThe summary\n");
        let counts = self.counts;
        for (name, count) in [
            ("proposals", counts.proposals),
            ("refused", counts.refused),
            ("held", counts.held),
            ("executed", counts.executed),
            ("  of them writes", counts.writes),
            ("verified", counts.verified),
        ] {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "  {name:<18}{count:>4}");
        }
        let proof = format!("{} decisions asked again, all the same", self.proof.decisions);
        text.push_str(&mark(paint, self.proof.problems.is_empty(), &proof));
        for check in &self.oracle.checks {
            let line = format!("{}: {}", check.wanted, visible(&check.found));
            text.push_str(&mark(paint, check.holds, &line));
        }
        let session = short(facts.session.submitted.id.as_str());
        match &self.reason {
            None => text.push_str(&paint.paint(
                Tone::Good,
                &format!(
                    "\nResolved and verified in {:.1} s (session {session}).",
                    self.seconds()
                ),
            )),
            Some(reason) => {
                text.push_str(&paint.paint(Tone::Bad, &format!("\nNot resolved: {}", visible(reason))));
            }
        }
        text
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    const fn seconds(&self) -> f64 {
        self.elapsed_ms as f64 / 1000.0
    }
}

fn mark(paint: Paint, good: bool, text: &str) -> String {
    let mark = if good {
        paint.paint(Tone::Good, "✓")
    } else {
        paint.paint(Tone::Bad, "✗")
    };
    format!("  {mark} {text}\n")
}
