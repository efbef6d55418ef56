//! Decisions in words, for people. Names, commands and reasons come from elsewhere: what a screen would act on is
//! written out.

use std::fmt::Write as _;

use interlock_protocol::Expectation;

use crate::gate::Decision;
use crate::hold::Hold;
use crate::permit::Permit;
use crate::plan::Plan;
use crate::refusal::{Refusal, Severity};

/// What a person decides on, on one line.
fn visible(text: &str) -> String {
    interlock_protocol::reveal_line(text).text
}

impl Decision {
    /// The decision, why, and what follows from it, in a few lines.
    pub fn explain(&self) -> String {
        match self {
            Self::Allow(permit) => explain_permit(permit),
            Self::Hold(hold) => hold.explain(),
            Self::Block(refusal) => refusal.explain(),
        }
    }
}

fn explain_permit(permit: &Permit) -> String {
    let mut out = format!("Allowed: {}.\n", describe(permit.plan()));
    if let Some(by) = permit.approved_by() {
        let _ = writeln!(out, "Approved by {}.", visible(by.as_ref()));
    }
    if let Some(expectation) = &permit.plan().expectation {
        let _ = writeln!(
            out,
            "Afterwards: {}.",
            visible(&describe_expectation(expectation))
        );
    }
    let _ = writeln!(out, "Must begin by {}.", permit.expires_at());
    out
}

impl Hold {
    /// What waits, why, and until when.
    pub fn explain(&self) -> String {
        let mut out = format!("Waits for a human: {}.\n", describe(&self.plan));
        for reason in &self.reasons {
            let _ = writeln!(out, "Because {}.", interlock_protocol::visible::line(reason));
        }
        if let Some(expectation) = &self.plan.expectation {
            let _ = writeln!(
                out,
                "Afterwards: {}.",
                visible(&describe_expectation(expectation))
            );
        }
        let _ = writeln!(out, "Plan {}, open until {}.", self.plan_hash, self.expires_at);
        out
    }
}

impl Refusal {
    /// What was refused, by which rule, and what would help.
    pub fn explain(&self) -> String {
        let head = match self.severity {
            Severity::Blocked => "Refused",
            Severity::Failed => "Refused for good",
        };
        let mut out = format!("{head}: {}\n", interlock_protocol::visible::line(&self.message));
        let _ = writeln!(
            out,
            "Rule {}, code {}, state {}.",
            self.rule, self.code, self.about.state
        );
        if let Some(hint) = &self.recovery_hint {
            let _ = writeln!(out, "What helps: {}", interlock_protocol::visible::line(hint));
        }
        out
    }
}

fn describe(plan: &Plan) -> String {
    let what = match (&plan.command, &plan.action) {
        (Some(command), _) => format!("`{command}`"),
        (None, Some(action)) => action.clone(),
        (None, None) => "a call".to_owned(),
    };
    let on = plan
        .target
        .as_ref()
        .map(|target| format!(" on {} ({})", target.name, target.id))
        .unwrap_or_default();
    visible(&format!(
        "{what}{on} with {}, a {} of {} risk",
        plan.tool, plan.kind, plan.risk
    ))
}

fn describe_expectation(expectation: &Expectation) -> String {
    match expectation {
        Expectation::GuestState { state } | Expectation::ContainerState { state } => {
            format!("it must be {state}")
        }
        Expectation::GuestRestarted | Expectation::ContainerRestarted => {
            "it must run, and have begun to after the change".to_owned()
        }
        Expectation::UnitActivity { unit, activity } => format!("unit `{unit}` must be {activity}"),
        Expectation::UnitRestarted { unit } => {
            format!("unit `{unit}` must be active, and have become so after the change")
        }
        Expectation::FileHash { path, .. } => format!("`{path}` must have exactly the new content"),
        Expectation::FilePatched { path } => format!("`{path}` must have what the edits make of it"),
        Expectation::FileAbsent { path } => format!("`{path}` must be gone"),
        Expectation::FileAppended { path, .. } => format!("`{path}` must end with the added text"),
        Expectation::ContainerImage { image } => {
            format!("it must have been replaced and run the image that `{image}` names")
        }
        Expectation::ContainerUpdated => {
            "it must have been replaced and run the image that its image name names".to_owned()
        }
        Expectation::RolledOut => "all replicas must be ready and made again".to_owned(),
        Expectation::Replaced => "it must be gone or replaced".to_owned(),
        Expectation::NoteKept { .. } => "the note must be kept".to_owned(),
        Expectation::ReadyReplicas { count } => format!("{count} replicas must be ready"),
        Expectation::AlertState { state } => format!("the alert must be {state}"),
        Expectation::Property { name, value } => format!("`{name}` must be {value}"),
        Expectation::Present => "it must exist".to_owned(),
        Expectation::Absent => "it must be gone".to_owned(),
        Expectation::FreeForm => "a reading must show its state".to_owned(),
    }
}
