//! Makes forms of the API out of what is kept.

use interlock_protocol::{SandboxWall, ToolKind};
use interlock_store::{
    AuditEntry as KeptEntry, Call, DecisionRow, ListedSession, Outline, SealState, Session, Tally,
    TimelineEntry as KeptTimeline,
};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{
    ActionTaken, AuditEntry, DecisionForm, Evidence, Execution, Ground, Head, HeadAction, HeadLine,
    HeadRecord, Run, SessionDetail, SessionSummary, Stage, TimelineEntry, Usage, WallsForm, WriteNotRun,
};

/// How much of an answer a list shows, in characters.
const ANSWER: usize = 400;

/// A session in a list.
pub(super) fn summary_of_listed(listed: &ListedSession) -> SessionSummary {
    summary(&listed.session, listed.tally)
}

/// A session, with what is counted of it.
pub(super) fn summary(session: &Session, tally: Tally) -> SessionSummary {
    let submitted = &session.submitted;
    SessionSummary {
        id: submitted.id.to_string(),
        kind: submitted.kind.into(),
        title: submitted.title.clone(),
        status: session.status.into(),
        channel: submitted.channel.clone(),
        owner: submitted.owner.as_ref().map(ToString::to_string),
        alert_type: submitted.alert_type.clone(),
        chain: submitted.chain.clone(),
        level: submitted.level.into(),
        created_at: submitted.at,
        started_at: session.started_at,
        completed_at: session.completed_at,
        last_interaction_at: session.last_interaction_at,
        answer: session.answer.as_deref().map(|answer| cut(answer, ANSWER)),
        error: session.error.clone(),
        open_holds: tally.open_holds,
        writes: tally.writes,
        writes_verified: tally.writes_verified,
        refusals: tally.refusals,
        severity: severity(&submitted.input),
        usage: Usage::default(),
    }
}

/// The longest word for how bad something is.
const SEVERITY: usize = 24;

/// How bad an alert says that it is. A list has only the beginning of the alert, so this reads no JSON.
fn severity(input: &str) -> Option<String> {
    if !input.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let (_, rest) = input.split_once("\"severity\"")?;
    let rest = rest
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix('"')?;
    let (word, _) = rest.split_once('"')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_ ".contains(c);
    (!word.trim().is_empty() && word.len() <= SEVERITY && word.chars().all(plain))
        .then(|| word.trim().to_ascii_lowercase())
}

/// The first characters of a text.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// A session as a whole.
pub(super) fn detail(
    outline: Outline,
    calls: &[Call],
    readings: &[jiff::Timestamp],
    facts: &[Value],
    seal: &SealState,
) -> SessionDetail {
    let head = interlock_engine::head_of(&outline, calls, readings, seal);
    let Outline {
        session,
        runs,
        stages,
        executions,
        answer,
        last_event,
        tally,
        not_run: _,
    } = outline;
    let ended = session.completed_at.is_some();
    let stages = stages
        .into_iter()
        .map(|stage| Stage {
            executions: executions
                .iter()
                .filter(|execution| execution.stage == stage.id)
                .map(|execution| Execution {
                    id: execution.id.to_string(),
                    agent: execution.agent.to_string(),
                    model: execution.model.clone(),
                    controller: execution.controller.clone(),
                    status: execution.status.into(),
                    iterations: execution.iterations,
                    error: execution.error.clone(),
                })
                .collect(),
            id: stage.id.to_string(),
            index: stage.index,
            name: stage.name,
            status: stage.status.into(),
            error: stage.error,
        })
        .collect();
    SessionDetail {
        summary: SessionSummary {
            usage: usage(facts),
            ..summary(&session, tally)
        },
        head: self::head(&head),
        grounds: grounds(session.answer.as_deref(), answer.as_ref()),
        full_answer: session.answer,
        actions: calls
            .iter()
            .filter(|call| call.started.plan.kind == ToolKind::Write)
            .map(action)
            .collect(),
        stages,
        runs: runs
            .into_iter()
            .map(|run| Run {
                id: run.id.to_string(),
                input: run.input,
                status: run.status.into(),
                started_at: run.started_at,
                completed_at: run.completed_at,
            })
            .collect(),
        model: session
            .submitted
            .options
            .get("model")
            .and_then(Value::as_str)
            .map(str::to_owned),
        input: session.submitted.input,
        last_sequence: last_event.get(),
        can_ask: ended && session.deleted_at.is_none() && !head.is_altered(),
        can_cancel: !ended && !session.cancel_requested,
        deleted_at: session.deleted_at,
    }
}

/// What code knows about an answer.
pub(super) fn head(head: &interlock_protocol::Head) -> Head {
    Head {
        record: head.record.as_ref().map(|record| HeadRecord {
            state: record.state.into(),
            what: record.what.as_deref().map(interlock_protocol::visible::line),
        }),
        actions: head
            .actions
            .iter()
            .map(|action| HeadAction {
                permit: action.permit.to_string(),
                what: action.what.clone(),
                resource: action.resource.as_ref().map(ToString::to_string),
                name: action.name.clone(),
                outcome: action.outcome.map(Into::into),
                verification: action.verification.map(Into::into),
                approved_by: action.approved_by.as_ref().map(ToString::to_string),
            })
            .collect(),
        earlier_actions: head.earlier_actions,
        not_run: head
            .not_run
            .iter()
            .map(|write| WriteNotRun {
                reason: write.reason.into(),
                what: write.what.clone(),
                resource: write.resource.as_ref().map(ToString::to_string),
                name: write.name.clone(),
                by: write.by.as_ref().map(ToString::to_string),
                code: write.code.map(|code| code.to_string()),
                approved_by: write.approved_by.as_ref().map(ToString::to_string),
                edited_by: write.edited_by.as_ref().map(ToString::to_string),
                edited_from: write.edited_from.clone(),
                count: write.count,
            })
            .collect(),
        earlier_not_run: head.earlier_not_run,
        readings: head.readings,
        earlier_readings: head.earlier_readings,
        support: head.support.map(Into::into),
        backed: head.backed,
        unbacked: head.unbacked,
        withheld: head.withheld.map(Into::into),
        hidden: head.hidden,
        lines: head
            .lines()
            .into_iter()
            .map(|line| HeadLine {
                tone: line.tone.into(),
                text: line.text,
            })
            .collect(),
    }
}

#[derive(Deserialize)]
struct Span {
    start: usize,
    end: usize,
    evidence: Vec<String>,
}

/// What an answer rests on. The record counts bytes of its own text; a page counts UTF-16 code units of what it shows.
pub(super) fn grounds(shown: Option<&str>, answer: Option<&KeptTimeline>) -> Vec<Ground> {
    let (Some(shown), Some(answer)) = (shown, answer) else {
        return Vec::new();
    };
    // The answer of a chain may be made of those of its agents: what does not stand where the record says is left out.
    let Some(offset) = shown.find(answer.content.as_str()) else {
        return Vec::new();
    };
    let before = utf16(&shown[..offset]);
    let spans: Vec<Span> = answer
        .metadata
        .get("spans")
        .and_then(|spans| serde_json::from_value(spans.clone()).ok())
        .unwrap_or_default();
    spans
        .into_iter()
        .filter_map(|span| {
            let text = answer.content.get(span.start..span.end)?;
            let start = before + utf16(answer.content.get(..span.start)?);
            Some(Ground {
                start,
                end: start + utf16(text),
                text: text.to_owned(),
                evidence: span.evidence,
            })
        })
        .collect()
}

fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// What a call did, from its receipt.
pub(super) fn action(call: &Call) -> ActionTaken {
    let (started, plan) = (&call.started, &call.started.plan);
    let receipt = call.receipt.as_ref();
    let what = plan.action.as_deref().map_or_else(
        || plan.tool.to_string(),
        |action| format!("{} {action}", plan.tool),
    );
    ActionTaken {
        receipt: receipt.map(|receipt| receipt.id.to_string()),
        permit: started.permit.to_string(),
        call: plan.call.to_string(),
        tool: plan.tool.to_string(),
        action: plan.action.clone(),
        kind: plan.kind.into(),
        resource: plan.resource().map(ToString::to_string),
        resource_name: plan.target.as_ref().map(|target| target.name.clone()),
        command: plan.command.clone(),
        outcome: receipt.map(|receipt| receipt.outcome.into()),
        summary: receipt.map_or_else(
            || format!("{what}: no receipt yet"),
            |receipt| receipt.summary.clone(),
        ),
        approved_by: started.approved_by.as_ref().map(ToString::to_string),
        hold: started.hold.as_ref().map(ToString::to_string),
        verification: call.verification.map(Into::into),
        started_at: started.started_at,
        finished_at: receipt.and_then(|receipt| receipt.finished_at),
    }
}

/// What models cost, from the facts of each call to one.
pub(super) fn usage(facts: &[Value]) -> Usage {
    let mut usage = Usage::default();
    for fact in facts {
        let number = |pointer: &str| fact.pointer(pointer).and_then(Value::as_u64);
        usage.calls += 1;
        let add = |sum: &mut u64, pointer| *sum = sum.saturating_add(number(pointer).unwrap_or(0));
        add(&mut usage.input_tokens, "/usage/input_tokens");
        add(&mut usage.output_tokens, "/usage/output_tokens");
        if let Some(micro) = number("/cost/micro_dollars") {
            #[expect(clippy::cast_precision_loss, reason = "an amount of money for people")]
            let cost = micro as f64 / 1_000_000.0;
            *usage.cost.get_or_insert(0.0) += cost;
        }
    }
    usage
}

/// An entry of the timeline.
///
/// The head of an answer was made when the answer was. If the record was changed since, it says so first.
pub(super) fn entry(entry: KeptTimeline, seal: &SealState) -> TimelineEntry {
    TimelineEntry {
        id: format!("{}:{}", entry.execution, entry.number),
        execution: entry.execution.to_string(),
        number: entry.number,
        kind: entry.kind,
        status: entry.status,
        content: entry.content,
        author: entry
            .metadata
            .get("by")
            .and_then(Value::as_str)
            .map(str::to_owned),
        head: entry
            .metadata
            .get("head")
            .and_then(|head| serde_json::from_value::<interlock_protocol::Head>(head.clone()).ok())
            .map(|told| {
                head(&interlock_protocol::Head {
                    record: Some(interlock_engine::recorded(seal)),
                    ..told
                })
            }),
        metadata: Some(entry.metadata).filter(Value::is_object),
        at: entry.at,
        updated_at: entry.updated_at,
    }
}

/// What a read returned.
pub(super) fn evidence(evidence: interlock_protocol::Evidence, command: Option<String>) -> Evidence {
    Evidence {
        id: evidence.id.to_string(),
        call: evidence.call.to_string(),
        tool: evidence.tool.to_string(),
        command,
        resource: evidence.resource.as_ref().map(ToString::to_string),
        taken_at: evidence.taken_at,
        hash: evidence.hash.to_string(),
        data: evidence.data,
        observations: evidence
            .observations
            .iter()
            .filter_map(|observation| serde_json::to_value(observation).ok())
            .collect(),
        walls: evidence.walls.as_ref().map(walls),
    }
}

fn walls(walls: &interlock_protocol::Walls) -> WallsForm {
    let (by, sockets, reason) = match &walls.sandbox {
        SandboxWall::Enforced { by, sockets, .. } => (Some(by.as_str().to_owned()), sockets.as_slice(), None),
        SandboxWall::None { reason } => (None, [].as_slice(), Some(reason.clone())),
    };
    WallsForm {
        analysis: walls.analysis.as_str().to_owned(),
        sandboxed: walls.sandbox.is_enforced(),
        by,
        sockets: sockets.iter().map(|kind| kind.as_str().to_owned()).collect(),
        reason,
        sentence: walls.sentence(),
    }
}

/// An answer of the gate.
pub(super) fn decision(row: DecisionRow) -> DecisionForm {
    DecisionForm {
        position: row.position,
        session: row.session.to_string(),
        sequence: row.sequence.get(),
        at: row.at,
        call: row.call.map(Into::into),
        tool: row.tool.map(Into::into),
        answer: row.answer,
        rule: row.rule.map(Into::into),
        code: row.code.map(|code| code.to_string()),
        message: row.message,
        hold: row.hold.map(Into::into),
    }
}

/// An entry of the audit log.
pub(super) fn audit(entry: KeptEntry) -> AuditEntry {
    AuditEntry {
        number: entry.number,
        at: entry.deed.at,
        actor: entry.deed.actor.map(Into::into),
        action: entry.deed.action,
        subject: entry.deed.subject,
        details: entry.deed.details,
        hash: entry.hash.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(content: &str, spans: &Value) -> KeptTimeline {
        serde_json::from_value(json!({
            "execution": "exe_1", "number": 1, "kind": "final_analysis", "status": "completed",
            "content": content, "metadata": {"spans": spans},
            "at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn grounds_are_counted_as_a_page_counts() {
        // `😀` has four bytes and two code units, `ü` two bytes and one.
        let answer = answered(
            "😀 für nginx",
            &json!([
                {"start": 10, "end": 15, "evidence": ["evd_1"]},
                {"start": 1, "end": 3, "evidence": []},
                {"start": 10, "end": 900, "evidence": []},
            ]),
        );
        let found: Vec<(usize, usize, String, Vec<String>)> = grounds(Some("😀 für nginx"), Some(&answer))
            .into_iter()
            .map(|ground| (ground.start, ground.end, ground.text, ground.evidence))
            .collect();
        assert_eq!(found, [(7, 12, "nginx".to_owned(), vec!["evd_1".to_owned()])]);
        let moved = grounds(Some("A\n\n😀 für nginx"), Some(&answer));
        assert_eq!(moved.first().map(|ground| ground.start), Some(10));
        assert!(grounds(Some("another answer"), Some(&answer)).is_empty());
    }

    #[test]
    fn costs_add_up_and_none_is_no_zero() {
        let free = json!({"usage": {"input_tokens": 5, "output_tokens": 2}});
        let paid = json!({"usage": {"input_tokens": 1}, "cost": {"micro_dollars": 1500}});
        assert_eq!(usage(std::slice::from_ref(&free)).cost, None);
        let both = usage(&[free, paid]);
        assert_eq!((both.calls, both.input_tokens, both.output_tokens), (2, 6, 2));
        assert!((both.cost.unwrap() - 0.0015).abs() < 1e-12);
    }

    #[test]
    fn an_alert_says_how_bad_it_is_in_its_own_word() {
        let cases = [
            (
                r#"{"labels": {"severity": "Critical", "x": 1}}"#,
                Some("critical"),
            ),
            (r#"[{"severity":"page"}, {"severity":"info"}]"#, Some("page")),
            // The rest was cut.
            (
                r#"{"labels":{"severity":"warning","instance":"web:91"#,
                Some("warning"),
            ),
            (r#"{"labels":{"severity":"warn"#, None),
            (r#"{"severity": 3}"#, None),
            (r#"{"severity": "<b>x</b>"}"#, None),
            (r#"why is "severity": "critical" set?"#, None),
            ("{}", None),
        ];
        for (input, wanted) in cases {
            assert_eq!(severity(input).as_deref(), wanted, "{input}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("", 2), "");
    }
}
