//! Makes the form of a hold: everything that a person needs to decide, and nothing that a model could have made up about
//! it without saying so.

use std::fmt::Write as _;

use interlock_gate::{FourEyes, Hold, HoldStatus, Plan};
use interlock_protocol::{Evidence, reveal, reveal_line, visible};
use interlock_store::SealState;
use jiff::Timestamp;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::asked::asked;
use super::{forms, hold_run};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::wire::{ActionTaken, Approval, Change, EditedFrom, EvidenceRef, IdentityFact, PlanForm, PlanStep};

/// How much of what a model said is shown, in characters.
const WHY: usize = 4000;
/// How many pieces of evidence are shown, and how much of each, in characters.
const EVIDENCE: u32 = 5;
const EXCERPT: usize = 400;
/// How many pieces of evidence are looked through for what a file has now.
const FILES: u32 = 50;
/// The longest text that is compared.
const COMPARED: usize = 256 * 1024;

/// How much of a hold is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it.
    Whole,
    /// Without evidence, difference and why it did not run: for lists of what was decided.
    Brief,
}

/// The form of a hold, for a caller.
pub(super) async fn form(app: &App, caller: &Caller, hold: &Hold, depth: Depth) -> Result<Approval, Problem> {
    let now = Timestamp::now();
    let (store, plan) = (app.store(), &hold.plan);
    let session = store.session(&plan.session).await?;
    let said = store
        .said_before(&plan.session, &plan.execution, hold.opened_at, 2)
        .await?;
    let (evidence, diff) = match (depth, plan.resource()) {
        (Depth::Whole, Some(resource)) => {
            let is_file = content_of(plan).is_some();
            let most = if is_file { FILES } else { EVIDENCE };
            let found = store.evidence_about(&plan.session, resource, most).await?;
            let before: Vec<Evidence> = found
                .into_iter()
                .filter(|evidence| evidence.taken_at <= hold.opened_at)
                .collect();
            let diff = difference(plan, &before);
            (before, diff)
        }
        (Depth::Whole, None) => (Vec::new(), difference(plan, &[])),
        (Depth::Brief, _) => (Vec::new(), None),
    };
    let edited_from = match &hold.edited_from {
        None => None,
        Some(edited) => {
            let old = store.hold(&edited.hold).await?;
            Some(EditedFrom {
                hold: edited.hold.to_string(),
                plan_hash: edited.plan_hash.to_string(),
                by: edited.by.to_string(),
                changes: changes(&old.plan.arguments, &plan.arguments),
            })
        }
    };
    let evidence = references(app, &evidence).await?;
    // Of what was decided long ago only its own page is checked: a list of it may be long.
    let checked = depth == Depth::Whole || hold.is_open(now);
    let altered = if checked { altered(app, hold).await? } else { None };
    let may_not = match altered {
        Some(why) => Some(why),
        None => may_not(app, caller, hold, now).await?,
    };
    let decided = decided(hold);
    let action = action(app, hold).await?;
    Ok(Approval {
        id: hold.id.to_string(),
        session: plan.session.to_string(),
        session_title: session.submitted.title,
        call: hold.call.to_string(),
        plan: plan_form(app, plan, diff),
        plan_hash: hold.plan_hash.to_string(),
        reasons: hold.reasons.clone(),
        why: said
            .iter()
            .find(|entry| !entry.content.trim().is_empty())
            .map(|entry| forms::cut(entry.content.trim(), WHY)),
        blast_radius: plan.blast_radius(),
        evidence,
        owner: hold.owner.as_ref().map(ToString::to_string),
        four_eyes: hold.four_eyes == FourEyes::On,
        may_approve: may_not.is_none(),
        may_not_because: may_not,
        opened_at: hold.opened_at,
        expires_at: hold.expires_at,
        status: hold.word(now).to_owned(),
        decided_by: decided.by,
        decided_at: decided.at,
        reason: decided.reason,
        edited_into: decided.into,
        edited_from,
        not_run: match depth {
            Depth::Whole => hold_run::not_run(app, hold, action.as_ref()).await?,
            Depth::Brief => None,
        },
        action,
    })
}

/// What came of it, once it ran.
async fn action(app: &App, hold: &Hold) -> Result<Option<ActionTaken>, Problem> {
    if !matches!(hold.status, HoldStatus::Approved { .. }) {
        return Ok(None);
    }
    Ok(app.store().call_of(&hold.id).await?.as_ref().map(forms::action))
}

#[derive(Default)]
struct Decided {
    by: Option<String>,
    at: Option<Timestamp>,
    reason: Option<String>,
    into: Option<String>,
}

fn decided(hold: &Hold) -> Decided {
    match &hold.status {
        HoldStatus::Pending => Decided::default(),
        HoldStatus::Approved { by, at } => Decided {
            by: Some(by.to_string()),
            at: Some(*at),
            ..Decided::default()
        },
        HoldStatus::Denied { by, at, reason } => Decided {
            by: Some(by.to_string()),
            at: Some(*at),
            reason: Some(reason.clone()),
            into: None,
        },
        HoldStatus::Edited { by, at, into } => Decided {
            by: Some(by.to_string()),
            at: Some(*at),
            reason: None,
            into: into.as_ref().map(ToString::to_string),
        },
        HoldStatus::Expired { at } | HoldStatus::Withdrawn { at } => Decided {
            at: Some(*at),
            ..Decided::default()
        },
    }
}

/// What is said of a hold whose session was changed outside Interlock.
async fn altered(app: &App, hold: &Hold) -> Result<Option<String>, Problem> {
    Ok(match app.store().seal_of(&hold.plan.session).await? {
        SealState::Altered { what } => Some(format!(
            "The record of this session was changed outside Interlock ({}). Nothing about this hold is proven, and nobody can \
             decide it. Run `interlock audit verify` on the server.",
            visible::line(&what)
        )),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => None,
    })
}

/// Why the caller cannot approve it now; nothing if they can. Asks what opening and approving ask, so that nobody is shown
/// a button that refuses them.
async fn may_not(app: &App, caller: &Caller, hold: &Hold, now: Timestamp) -> Result<Option<String>, Problem> {
    if !hold.is_open(now) {
        return Ok(Some(match hold.word(now) {
            "expired" => "Nobody decided in time.".to_owned(),
            word => format!("It is {word} already."),
        }));
    }
    if let Err(problem) = caller.may(Access::Approve) {
        return Ok(Some(problem.form().detail));
    }
    let barred = app.engine().barred(hold, &caller.person()).await?;
    Ok(barred.map(|barred| barred.message().to_owned()))
}

fn plan_form(app: &App, plan: &Plan, diff: Option<String>) -> PlanForm {
    let tools = app.engine().tools();
    let tool = tools.catalogue().get(plan.tool.as_str());
    let steps: Vec<PlanStep> = plan.rows().into_iter().map(step).collect();
    let identity = plan.target.as_ref().map(|target| &target.identity);
    PlanForm {
        tool: plan.tool.to_string(),
        action: plan.action.clone(),
        arguments: Value::Object(plan.arguments.clone()),
        kind: plan.kind.into(),
        risk: plan.risk.into(),
        resource: plan.resource().map(ToString::to_string),
        resource_name: plan.target.as_ref().map(|target| target.name.clone()),
        resource_state: plan.target.as_ref().and_then(|target| target.state.clone()),
        command: plan.command.clone(),
        expectation: plan.expectation.as_ref().map(interlock_gate::expected),
        timeout_seconds: plan.timeout_seconds,
        identity: identity
            .into_iter()
            .flat_map(interlock_protocol::Identity::facts)
            .map(|(fact, value)| IdentityFact {
                fact: fact.as_str().to_owned(),
                label: fact.label().to_owned(),
                value: reveal_line(value).text,
            })
            .collect(),
        hidden_characters: steps.iter().map(|step| step.hidden).sum(),
        steps,
        diff: diff.map(|diff| reveal(&diff).text),
        schema: tool.map(|tool| tool.definition().parameters.clone()),
    }
}

/// A row of the plan, as it is and as people may see it.
fn step((label, value): (String, String)) -> PlanStep {
    let shown = reveal(&value);
    PlanStep {
        label: reveal_line(&label).text,
        value,
        shown: shown.text,
        hidden: u32::try_from(shown.hidden).unwrap_or(u32::MAX),
    }
}

/// The evidence that is shown, each piece with what was asked to get it.
async fn references(app: &App, evidence: &[Evidence]) -> Result<Vec<EvidenceRef>, Problem> {
    let Some(first) = evidence.first() else {
        return Ok(Vec::new());
    };
    let calls = app.store().calls(&first.session).await?;
    let masker = &app.masker();
    let shown = evidence.iter().take(EVIDENCE as usize);
    Ok(shown
        .map(|evidence| reference(evidence, asked(masker, &calls, evidence)))
        .collect())
}

fn reference(evidence: &Evidence, command: Option<String>) -> EvidenceRef {
    let text = match &evidence.data {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    EvidenceRef {
        id: evidence.id.to_string(),
        tool: evidence.tool.to_string(),
        command,
        resource: evidence.resource.as_ref().map(ToString::to_string),
        taken_at: evidence.taken_at,
        excerpt: forms::cut(&text, EXCERPT),
    }
}

/// What differs between two sets of arguments.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Change> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let there = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value))
        .map(|(name, _)| name);
    gone.chain(there)
        .map(|name| Change {
            field: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}

/// The file that a plan writes, with what it writes and whether that comes at the end.
fn content_of(plan: &Plan) -> Option<(&str, &str, bool)> {
    let text = |name: &str| plan.arguments.get(name).and_then(Value::as_str);
    let path = text("path").or_else(|| text("file_path"))?;
    Some((path, text("content")?, plan.action.as_deref() == Some("append")))
}

/// What a patch replaces, edit by edit. Nothing else of the file is touched, whatever it has now, so that a masked line
/// is shown only if the patch changes it.
fn patch_of(plan: &Plan) -> Option<String> {
    let path = plan.arguments.get("path").and_then(Value::as_str)?;
    let edits = plan.arguments.get("edits").and_then(Value::as_array)?;
    let mut text = format!("--- {path}\n+++ {path} (afterwards)\n");
    for (index, edit) in edits.iter().enumerate() {
        let part = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "@@ edit {} of {}: must be there exactly once @@",
            index + 1,
            edits.len()
        );
        for (sign, lines) in [('-', part("find")), ('+', part("replace"))] {
            for line in lines.split_inclusive('\n').filter(|_| !lines.is_empty()) {
                text.push(sign);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push('\n');
                }
            }
        }
    }
    Some(text)
}

/// How a file would differ from what the session last read of it. Newest evidence comes first.
fn difference(plan: &Plan, evidence: &[Evidence]) -> Option<String> {
    if let Some(text) = patch_of(plan) {
        return Some(text);
    }
    let (path, content, append) = content_of(plan)?;
    let known = evidence.iter().find_map(|evidence| {
        let data = &evidence.data;
        if data.get("path").and_then(Value::as_str) != Some(path) {
            return None;
        }
        if data.get("exists").and_then(Value::as_bool) == Some(false) {
            return Some((String::new(), "is not there".to_owned()));
        }
        let whole = data.get("truncated").and_then(Value::as_bool) == Some(false);
        let text = data.get("content").and_then(Value::as_str).filter(|_| whole)?;
        Some((text.to_owned(), format!("as read {}", evidence.taken_at)))
    });
    let (old, from) = known.unwrap_or_else(|| (String::new(), "what it has now is not known".to_owned()));
    let new = if append {
        format!("{old}{content}")
    } else {
        content.to_owned()
    };
    if old.len() > COMPARED || new.len() > COMPARED {
        return Some(format!(
            "--- {path} ({from}; {} bytes)\n+++ {path} (afterwards; {} bytes)\ntoo long to compare: the row `content` has the whole new content\n",
            old.len(),
            new.len()
        ));
    }
    let text = TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(3)
        .header(&format!("{path} ({from})"), &format!("{path} (afterwards)"))
        .to_string();
    Some(if text.is_empty() {
        format!("--- {path} ({from})\n+++ {path} (afterwards)\nnothing changes\n")
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(content: &str, action: &str) -> Plan {
        serde_json::from_value(json!({
            "session": "ses_1", "execution": "exe_1", "call": "call_1", "tool": "infra_file_edit", "action": action,
            "arguments": {"action": action, "path": "/etc/motd", "content": content},
            "kind": "write", "risk": "medium", "timeout_seconds": 30,
        }))
        .unwrap()
    }

    fn read(data: &Value) -> Evidence {
        serde_json::from_value(json!({
            "id": "evd_1", "session": "ses_1", "execution": "exe_1", "call": "call_0", "tool": "infra_read",
            "resource": "node:delly", "taken_at": "2026-01-01T00:00:00Z",
            "hash": "0".repeat(64), "data": data,
        }))
        .unwrap()
    }

    #[test]
    fn a_file_is_compared_with_what_was_read_of_it() {
        let known =
            read(&json!({"path": "/etc/motd", "exists": true, "content": "a\nb\n", "truncated": false}));
        let part = read(&json!({"path": "/etc/motd", "exists": true, "content": "a\n", "truncated": true}));
        let other = read(&json!({"path": "/etc/hosts", "content": "x\n", "truncated": false}));
        let absent = read(&json!({"path": "/etc/motd", "exists": false}));
        let head = "--- /etc/motd (as read 2026-01-01T00:00:00Z)\n+++ /etc/motd (afterwards)\n";
        let unknown = "--- /etc/motd (what it has now is not known)\n+++ /etc/motd (afterwards)\n";
        let new = "@@ -0,0 +1 @@\n+c\n";
        let cases = [
            (
                write("a\nc\n", "write"),
                vec![other.clone(), known.clone()],
                format!("{head}@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
            ),
            (
                write("c\n", "append"),
                vec![known.clone()],
                format!("{head}@@ -1,2 +1,3 @@\n a\n b\n+c\n"),
            ),
            (
                write("a\nb\n", "write"),
                vec![known],
                format!("{head}nothing changes\n"),
            ),
            (
                write("c\n", "write"),
                vec![part, other],
                format!("{unknown}{new}"),
            ),
            (
                write("c\n", "write"),
                vec![absent],
                format!("--- /etc/motd (is not there)\n+++ /etc/motd (afterwards)\n{new}"),
            ),
        ];
        for (plan, evidence, wanted) in cases {
            assert_eq!(difference(&plan, &evidence).as_deref(), Some(wanted.as_str()));
        }
    }

    #[test]
    fn a_row_is_shown_so_that_the_exact_bytes_can_be_read_off_it() {
        for value in [
            "rm -rf /srv\u{202e}/gnimoc",
            "a\u{200b}b\u{e0041}",
            "\u{1b}[2J\r\nx",
            "⟦U+202E⟧",
            &"0123456789abcdef".repeat(4),
            &"x\n".repeat(20_000),
        ] {
            let step = step(("command".to_owned(), value.to_owned()));
            assert_eq!(step.value, value);
            assert_eq!(interlock_protocol::unreveal(&step.shown).as_deref(), Some(value));
            assert_eq!(step.hidden > 0, step.shown != value, "{value:?}");
        }
    }

    #[test]
    fn a_masked_line_is_context_only_where_it_stays_as_it_is() {
        let old = "user=x\npassword=[masked:password]\nworkers=2\n";
        let known = read(&json!({"path": "/etc/motd", "exists": true, "content": old, "truncated": false}));
        // Without the placeholder, which the gate refuses, the masked line is shown as changed.
        let whole = difference(
            &write("user=x\npassword=y\nworkers=4\n", "write"),
            std::slice::from_ref(&known),
        )
        .unwrap();
        assert!(whole.contains("-password=[masked:password]\n"), "{whole}");
        let mut patch = write("", "patch");
        patch.arguments.remove("content");
        patch.arguments.insert(
            "edits".to_owned(),
            json!([{"find": "workers=2", "replace": "workers=4"}, {"find": "user=x\n", "replace": ""}]),
        );
        let wanted = "--- /etc/motd\n+++ /etc/motd (afterwards)\n\
                      @@ edit 1 of 2: must be there exactly once @@\n-workers=2\n+workers=4\n\
                      @@ edit 2 of 2: must be there exactly once @@\n-user=x\n";
        assert_eq!(difference(&patch, &[known]).as_deref(), Some(wanted));
    }

    #[test]
    fn changes_name_what_is_new_gone_and_different() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let before = object(json!({"same": 1, "gone": true, "other": "a"}));
        let after = object(json!({"same": 1, "new": [1], "other": "b"}));
        let found: Vec<(String, Option<Value>, Option<Value>)> = changes(&before, &after)
            .into_iter()
            .map(|change| (change.field, change.before, change.after))
            .collect();
        assert_eq!(
            found,
            [
                ("gone".to_owned(), Some(json!(true)), None),
                ("new".to_owned(), None, Some(json!([1]))),
                ("other".to_owned(), Some(json!("a")), Some(json!("b"))),
            ]
        );
    }
}
