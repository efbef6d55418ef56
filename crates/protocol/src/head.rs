//! The head of an answer: what code knows about it, apart from what the model wrote.
//!
//! A head is made from receipts, evidence and the gate's check of the text, never from the text's own words. Surfaces
//! show it first, outside the frame that they put around the model's text.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::visible;
use crate::word::words;
use crate::{ErrorCode, Outcome, PermitId, ResourceId, UserId, Verification};

words! {
    /// What the readings of a session say about an answer as a whole.
    Support {
        /// No reading was taken that is about anything in the answer: nothing in it is backed.
        Unsupported = "unsupported",
        /// Some of what was compared with the readings was not found there.
        Partial = "partial",
        /// Everything that was compared with the readings was found there.
        Matched = "matched",
        /// There are readings, and nothing in the answer that can be compared with them.
        Unchecked = "unchecked",
    }
}

words! {
    /// What of the model's text was withheld.
    Withheld {
        /// All of it: it claimed a result that no receipt or reading shows.
        Claim = "claim",
        /// Its end: it is too long to be checked.
        Rest = "rest",
    }
}

words! {
    /// What the seal of a session says about the rows that a head was made from.
    RecordState {
        /// They are as they were signed.
        Signed = "signed",
        /// Somebody works on the session. What was signed before is as it was.
        InProgress = "in_progress",
        /// The session is older than the signing of its store.
        Older = "older",
        /// The store is not signed.
        Unsigned = "unsigned",
        /// They were changed outside Interlock.
        Altered = "altered",
    }
}

/// Whether the rows that a head was made from are those that were signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadRecord {
    /// What the seal says.
    pub state: RecordState,
    /// Which parts were changed, or how; nothing if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}

/// One write, from its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadAction {
    /// The permit that was consumed.
    pub permit: PermitId,
    /// What was done: the action, or the command.
    pub what: String,
    /// The resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceId>,
    /// The resource's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it ended; nothing while there is no receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What a reading of the resource showed afterwards; nothing if none was compared yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Who approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<UserId>,
    /// When it began.
    pub started_at: Timestamp,
}

words! {
    /// Why a write that was proposed did not run.
    NotRunReason {
        /// A person denied it.
        Denied = "denied",
        /// No person decided in time.
        Expired = "expired",
        /// The session went on before a person decided.
        Withdrawn = "withdrawn",
        /// The gate refused it.
        Refused = "refused",
    }
}

/// Writes that were proposed and did not run, alike ones counted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteNotRun {
    /// Why.
    pub reason: NotRunReason,
    /// What was proposed: the action or the command; of a write that was refused at once the tool, because its arguments were not
    /// accepted.
    pub what: String,
    /// The resource; nothing for a write that was refused at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceId>,
    /// The resource's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who denied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// The code of the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// Who approved it, of a write that was refused after that, when it was to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<UserId>,
    /// Who edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<UserId>,
    /// What the model had proposed before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
    /// How many.
    pub count: u32,
}

/// What code knows about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Whether the rows that it was made from are those that were signed; nothing if that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<HeadRecord>,
    /// The writes since the question, in order.
    pub actions: Vec<HeadAction>,
    /// How many writes came before it in the session.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_actions: u32,
    /// The writes that were proposed since the question and did not run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<WriteNotRun>,
    /// How many writes were proposed before it in the session and did not run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_not_run: u32,
    /// How many readings were taken since the question.
    pub readings: u32,
    /// How many were taken before it in the session.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_readings: u32,
    /// What the readings say about the answer; nothing while there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<Support>,
    /// How many parts of the answer (numbers, states) a reading shows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub backed: u32,
    /// How many parts of the answer (numbers, states, names, claims) no reading and no receipt shows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unbacked: u32,
    /// What of the model's text was withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// How many invisible, direction-changing or look-alike characters the model's text contains.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

words! {
    /// What a line of a head is, for choosing its mark and its colour.
    HeadTone {
        /// A write that a reading confirmed.
        Verified = "verified",
        /// A write that failed, or whose effect did not come about; an answer that was withheld.
        Failed = "failed",
        /// Something that is not known.
        Unknown = "unknown",
        /// A plain fact.
        Fact = "fact",
    }
}

impl HeadTone {
    /// The mark in front of the line.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Verified => "✓",
            Self::Failed => "✗",
            Self::Unknown => "?",
            Self::Fact => "•",
        }
    }
}

/// One line of a head, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadLine {
    /// What it is.
    pub tone: HeadTone,
    /// The sentence. Text from outside is written out in it: it holds nothing that a screen acts on.
    pub text: String,
}

impl HeadAction {
    /// What the outcome and the verification come to.
    pub const fn tone(&self) -> HeadTone {
        match (self.outcome, self.verification) {
            (Some(Outcome::Succeeded), Some(Verification::Verified)) => HeadTone::Verified,
            (_, Some(Verification::Failed))
            | (Some(Outcome::Failed | Outcome::TimedOut | Outcome::Cancelled), _) => HeadTone::Failed,
            (Some(Outcome::Succeeded), Some(Verification::Observed)) => HeadTone::Fact,
            (None | Some(Outcome::Succeeded | Outcome::InterruptedUnknown), _) => HeadTone::Unknown,
        }
    }

    /// The sentence about it.
    pub fn text(&self) -> String {
        let Proposed { mut text, command } =
            proposed(&self.what, self.name.as_deref(), self.resource.as_ref());
        text.push_str(match self.outcome {
            Some(Outcome::Succeeded) => ": succeeded",
            Some(Outcome::Failed) => ": failed",
            Some(Outcome::TimedOut) => ": timed out",
            Some(Outcome::InterruptedUnknown) => ": interrupted, outcome unknown",
            Some(Outcome::Cancelled) => ": cancelled while it ran",
            None => ": started, no receipt yet",
        });
        text.push_str(match self.verification {
            Some(Verification::Verified) => ", verified",
            Some(Verification::Observed) => ", observed afterwards",
            Some(Verification::Failed) => ", verification failed: the expected effect was not found",
            Some(Verification::Inconclusive) => ", unverified: the effect could not be observed",
            None => ", not verified",
        });
        if let Some(by) = &self.approved_by {
            // Writing into a String cannot fail.
            let _ = write!(text, "; approved by {}", named(by.as_str()));
        }
        text + &command
    }
}

impl WriteNotRun {
    /// The sentence about it.
    pub fn text(&self) -> String {
        let Proposed { text: what, command } =
            proposed(&self.what, self.name.as_deref(), self.resource.as_ref());
        let said = |one: &str, many: &str| counted(self.count, one, many);
        let text = match self.reason {
            NotRunReason::Denied => {
                let by = self
                    .by
                    .as_ref()
                    .map_or_else(|| "a person".to_owned(), |by| named(by.as_str()));
                format!("{} denied by {by}: {what}", said("write was", "writes were"))
            }
            NotRunReason::Expired => {
                let count = said("write", "writes");
                format!("{count} expired because no person decided in time: {what}")
            }
            NotRunReason::Withdrawn => {
                let count = said("write was", "writes were");
                format!("{count} withdrawn before a person decided: {what}")
            }
            NotRunReason::Refused => {
                let code = self.code.map_or_else(String::new, |code| format!(" ({code})"));
                let count = said("write was", "writes were");
                match &self.approved_by {
                    Some(by) => {
                        let by = named(by.as_str());
                        format!("{count} approved by {by} and then refused before it ran{code}: {what}")
                    }
                    None => format!("{count} refused{code}: {what}"),
                }
            }
        };
        let edited = self
            .edited_by
            .as_ref()
            .map_or_else(String::new, |by| format!(", edited by {}", named(by.as_str())));
        let before = self
            .edited_from
            .as_deref()
            .map_or_else(String::new, |what| match command_of(what) {
                Some(command) => format!(". The model's own command: {}", quoted(command)),
                None => format!(". The model had proposed: {}", named(what)),
            });
        text + &edited + &command + &before
    }
}

impl Head {
    /// Whether a write failed or its effect is not known, or the record was changed.
    pub fn has_trouble(&self) -> bool {
        self.is_altered()
            || self
                .actions
                .iter()
                .any(|action| matches!(action.tone(), HeadTone::Failed | HeadTone::Unknown))
    }

    /// Whether the rows that it was made from were changed outside Interlock.
    pub fn is_altered(&self) -> bool {
        self.record
            .as_ref()
            .is_some_and(|record| record.state == RecordState::Altered)
    }

    /// The head as sentences, in the order in which every surface shows them.
    pub fn lines(&self) -> Vec<HeadLine> {
        let mut lines = Vec::new();
        let mut push = |tone, text: String| lines.push(HeadLine { tone, text });
        if let Some(HeadRecord {
            state: RecordState::Altered,
            what,
        }) = &self.record
        {
            let what = what
                .as_deref()
                .map_or_else(String::new, |what| format!(" ({})", visible::line(what)));
            push(
                HeadTone::Failed,
                format!(
                    "The record of this session was changed outside Interlock{what}. Nothing below is proven. Run interlock audit verify."
                ),
            );
        }
        let earlier = match self.earlier_actions {
            0 => String::new(),
            count => format!(
                " {} taken earlier in this session.",
                counted(count, "action was", "actions were")
            ),
        };
        if self.actions.is_empty() {
            push(HeadTone::Fact, format!("No action was taken.{earlier}"));
        } else {
            let count = u32::try_from(self.actions.len()).unwrap_or(u32::MAX);
            push(
                HeadTone::Fact,
                format!("{} taken.{earlier}", counted(count, "action was", "actions were")),
            );
        }
        for action in &self.actions {
            push(action.tone(), action.text());
        }
        for not_run in &self.not_run {
            push(HeadTone::Fact, not_run.text());
        }
        if self.earlier_not_run > 0 {
            push(
                HeadTone::Fact,
                format!(
                    "{} proposed earlier in this session and did not run.",
                    counted(self.earlier_not_run, "write was", "writes were")
                ),
            );
        }
        let (tone, readings) = self.readings();
        push(tone, readings);
        let parts = self.backed.saturating_add(self.unbacked);
        match self.support {
            Some(Support::Partial) => push(
                HeadTone::Unknown,
                format!(
                    "{} of {} checked in the answer {} no evidence.",
                    self.unbacked,
                    counted(parts, "part", "parts"),
                    if self.unbacked == 1 { "has" } else { "have" }
                ),
            ),
            Some(Support::Matched) => push(
                HeadTone::Fact,
                format!(
                    "{} found in the readings.",
                    match parts {
                        1 => "The number or state in the answer was".to_owned(),
                        parts => format!("All {parts} numbers and states in the answer were"),
                    }
                ),
            ),
            Some(Support::Unsupported | Support::Unchecked) | None => {}
        }
        match self.withheld {
            Some(Withheld::Claim) => push(
                HeadTone::Failed,
                "The model's answer was withheld: it claimed a result that no tool call of this session shows."
                    .to_owned(),
            ),
            Some(Withheld::Rest) => push(
                HeadTone::Failed,
                "The end of the model's answer was withheld: the answer is too long to be checked.".to_owned(),
            ),
            None => {}
        }
        if self.hidden > 0 {
            push(
                HeadTone::Unknown,
                format!(
                    "The answer contains {}, shown as ⟦U+…⟧.",
                    counted(
                        self.hidden,
                        "hidden or look-alike character",
                        "hidden or look-alike characters"
                    )
                ),
            );
        }
        lines
    }

    fn readings(&self) -> (HeadTone, String) {
        let whole = match self.support {
            Some(Support::Unsupported) => " The whole answer is unsupported.",
            _ => "",
        };
        let all = self.readings.saturating_add(self.earlier_readings);
        match (self.readings, self.earlier_readings) {
            (_, _) if all > 0 && self.support == Some(Support::Unsupported) => (
                HeadTone::Unknown,
                format!(
                    "{} taken, and none supports the answer.{whole}",
                    counted(all, "reading was", "readings were")
                ),
            ),
            (0, 0) => (HeadTone::Unknown, format!("No reading was taken.{whole}")),
            (0, earlier) => (
                HeadTone::Fact,
                format!(
                    "No reading was taken for this question; {} taken earlier in this session.",
                    counted(earlier, "was", "were")
                ),
            ),
            (new, earlier) => {
                let mut text = if self.support.is_some() {
                    format!("The answer rests on {}", counted(new, "reading", "readings"))
                } else {
                    format!("{} taken", counted(new, "reading was", "readings were"))
                };
                if earlier > 0 {
                    // Writing into a String cannot fail.
                    let _ = write!(text, " and {earlier} from earlier in this session");
                }
                (HeadTone::Fact, format!("{text}."))
            }
        }
    }

    /// The head as plain text, one sentence a line, each with its mark: for a terminal, a mail, a notification.
    pub fn plain(&self) -> String {
        let mut text = String::new();
        for line in self.lines() {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{} {}", line.tone.mark(), line.text);
        }
        text
    }
}

/// What was proposed, in two parts.
struct Proposed {
    /// What it was and where, in words that code chose.
    text: String,
    /// The command, which a model wrote: the last thing on the line, so that none of its words can be taken for the outcome.
    command: String,
}

/// The command, where it is one.
fn command_of(what: &str) -> Option<&str> {
    what.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
}

fn proposed(what: &str, name: Option<&str>, resource: Option<&ResourceId>) -> Proposed {
    let (what, command) = match command_of(what) {
        Some(command) => (
            "a command".to_owned(),
            format!(". The command: {}", quoted(command)),
        ),
        None => (named(what), String::new()),
    };
    let id = resource.map(|id| named(&id.to_string()));
    let text = match (name.map(named), id) {
        (Some(name), Some(id)) => format!("{what} on {name} ({id})"),
        (Some(only), None) | (None, Some(only)) => format!("{what} on {only}"),
        (None, None) => what,
    };
    Proposed { text, command }
}

/// A name that code did not choose. One that could be read as more than a name is quoted.
fn named(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._:/@-+".contains(c);
    if name.chars().all(plain) {
        visible::line(name)
    } else {
        quoted(name)
    }
}

/// A text in a quotation that it cannot end.
fn quoted(text: &str) -> String {
    format!("`{}`", visible::line(text).replace('`', "⟦U+0060⟧"))
}

fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(what: &str, outcome: Option<Outcome>, verification: Option<Verification>) -> HeadAction {
        HeadAction {
            permit: PermitId::from_bytes([0; 16]),
            what: what.to_owned(),
            resource: Some("lxc:delly:105".parse().unwrap()),
            name: Some("jellyfin".to_owned()),
            outcome,
            verification,
            approved_by: None,
            started_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn empty() -> Head {
        Head {
            record: None,
            actions: Vec::new(),
            earlier_actions: 0,
            not_run: Vec::new(),
            earlier_not_run: 0,
            readings: 0,
            earlier_readings: 0,
            support: None,
            backed: 0,
            unbacked: 0,
            withheld: None,
            hidden: 0,
        }
    }

    fn not_run(reason: NotRunReason, count: u32) -> WriteNotRun {
        let refused = reason == NotRunReason::Refused;
        WriteNotRun {
            reason,
            what: if refused { "infra_control" } else { "restart" }.to_owned(),
            resource: (!refused).then(|| "lxc:delly:105".parse().unwrap()),
            name: (!refused).then(|| "jellyfin".to_owned()),
            by: (reason == NotRunReason::Denied).then(|| "anna".parse().unwrap()),
            code: refused.then_some(ErrorCode::ActionNotAllowed),
            approved_by: None,
            edited_by: None,
            edited_from: None,
            count,
        }
    }

    /// Whatever a command or a name says, our words come before it, and it cannot end its quotation.
    #[test]
    fn no_foreign_text_can_be_read_as_an_outcome() {
        let forged = [
            "touch x` on vm (host:vm): succeeded, verified; approved by zoe; `",
            "`",
            "``",
            "x`",
            "⟦U+0060⟧",
            "x): succeeded, verified; approved by zoe (",
            "a\n✓ restart on db: succeeded, verified",
        ];
        for text in forged {
            let command = HeadAction {
                approved_by: Some("anna".parse().unwrap()),
                ..action(&format!("`{text}`"), Some(Outcome::Failed), None)
            };
            let said = command.text();
            let ours = "a command on jellyfin (lxc:delly:105): failed, not verified; approved by anna. The command: `";
            assert!(said.starts_with(ours), "{said}");
            assert!(said.ends_with('`') && said.matches('`').count() == 2, "{said}");
            let denied = WriteNotRun {
                what: format!("`{text}`"),
                ..not_run(NotRunReason::Denied, 1)
            };
            let said = denied.text();
            let ours = "1 write was denied by anna: a command on jellyfin (lxc:delly:105). The command: `";
            assert!(said.starts_with(ours), "{said}");
            assert!(said.ends_with('`') && said.matches('`').count() == 2, "{said}");
            let edited = WriteNotRun {
                what: format!("`{text}`"),
                edited_by: Some("zoe".parse().unwrap()),
                edited_from: Some(format!("`{text}`")),
                ..not_run(NotRunReason::Denied, 1)
            };
            let said = edited.text();
            let ours = "1 write was denied by anna: a command on jellyfin (lxc:delly:105), edited by zoe. The command: `";
            assert!(said.starts_with(ours), "{said}");
            assert!(said.contains("`. The model's own command: `"), "{said}");
            assert!(said.ends_with('`') && said.matches('`').count() == 4, "{said}");
            let elsewhere = HeadAction {
                name: Some(text.to_owned()),
                ..action("restart", Some(Outcome::Failed), None)
            };
            let said = elsewhere.text();
            assert!(said.starts_with("restart on `"), "{said}");
            assert!(
                said.ends_with("` (lxc:delly:105): failed, not verified"),
                "{said}"
            );
            assert_eq!(said.matches('`').count(), 2, "{said}");
        }
    }

    #[test]
    fn heads_as_people_read_them() {
        let approved = HeadAction {
            approved_by: Some("anna".parse().unwrap()),
            ..action("restart", Some(Outcome::Succeeded), Some(Verification::Verified))
        };
        let spoofed = HeadAction {
            name: Some("x\u{1b}[2K\r✓\u{202e}".to_owned()),
            ..action(
                "`touch \n/x`",
                Some(Outcome::Succeeded),
                Some(Verification::Observed),
            )
        };
        let cases = [
            ("nothing happened, no answer", empty()),
            (
                "nothing happened, and yet an answer",
                Head {
                    support: Some(Support::Unsupported),
                    ..empty()
                },
            ),
            (
                "one verified write",
                Head {
                    actions: vec![approved],
                    readings: 3,
                    support: Some(Support::Matched),
                    backed: 2,
                    ..empty()
                },
            ),
            (
                "every other end of a write",
                Head {
                    actions: vec![
                        action("stop", Some(Outcome::Failed), Some(Verification::Verified)),
                        action("stop", Some(Outcome::Succeeded), Some(Verification::Failed)),
                        action("stop", Some(Outcome::Succeeded), Some(Verification::Inconclusive)),
                        action("stop", Some(Outcome::TimedOut), None),
                        action(
                            "stop",
                            Some(Outcome::InterruptedUnknown),
                            Some(Verification::Observed),
                        ),
                        action("stop", Some(Outcome::Cancelled), None),
                        action("stop", None, None),
                        spoofed,
                    ],
                    readings: 1,
                    support: Some(Support::Partial),
                    backed: 1,
                    unbacked: 2,
                    hidden: 1,
                    ..empty()
                },
            ),
            (
                "a later question of a chat",
                Head {
                    earlier_actions: 2,
                    earlier_readings: 5,
                    support: Some(Support::Unchecked),
                    withheld: Some(Withheld::Rest),
                    ..empty()
                },
            ),
            (
                "readings of something else",
                Head {
                    readings: 1,
                    earlier_readings: 1,
                    support: Some(Support::Unsupported),
                    unbacked: 1,
                    ..empty()
                },
            ),
            (
                "one write was denied",
                Head {
                    not_run: vec![not_run(NotRunReason::Denied, 1)],
                    readings: 2,
                    support: Some(Support::Unchecked),
                    ..empty()
                },
            ),
            (
                "writes did not run for every reason",
                Head {
                    actions: vec![action("start", Some(Outcome::Succeeded), None)],
                    not_run: vec![
                        not_run(NotRunReason::Refused, 1),
                        not_run(NotRunReason::Refused, 3),
                        not_run(NotRunReason::Denied, 2),
                        not_run(NotRunReason::Expired, 1),
                        not_run(NotRunReason::Withdrawn, 1),
                        WriteNotRun {
                            what: "`touch \u{1b}[2K\n/x`".to_owned(),
                            name: Some("x\r✓\u{202e}".to_owned()),
                            ..not_run(NotRunReason::Denied, 1)
                        },
                    ],
                    readings: 2,
                    ..empty()
                },
            ),
            (
                "an approved write was refused before it ran, an edited one denied",
                Head {
                    not_run: vec![
                        WriteNotRun {
                            what: "`touch /x`".to_owned(),
                            resource: Some("lxc:delly:105".parse().unwrap()),
                            name: Some("jellyfin".to_owned()),
                            approved_by: Some("anna".parse().unwrap()),
                            ..not_run(NotRunReason::Refused, 1)
                        },
                        WriteNotRun {
                            what: "`touch /y`".to_owned(),
                            edited_by: Some("zoe".parse().unwrap()),
                            edited_from: Some("`touch /x`".to_owned()),
                            ..not_run(NotRunReason::Denied, 1)
                        },
                    ],
                    earlier_not_run: 2,
                    readings: 1,
                    ..empty()
                },
            ),
            (
                "the record was changed",
                Head {
                    record: Some(HeadRecord {
                        state: RecordState::Altered,
                        what: Some("receipts, holds\u{1b}[2K\n✓".to_owned()),
                    }),
                    readings: 1,
                    ..empty()
                },
            ),
            (
                "a claim that was withheld",
                Head {
                    withheld: Some(Withheld::Claim),
                    readings: 1,
                    earlier_readings: 1,
                    ..empty()
                },
            ),
        ];
        let mut text = String::new();
        for (what, head) in cases {
            let _ = writeln!(text, "# {what}\n{}", head.plain());
            let json = serde_json::to_string(&head).unwrap();
            assert_eq!(serde_json::from_str::<Head>(&json).unwrap(), head);
        }
        insta::assert_snapshot!(text);
    }
}
