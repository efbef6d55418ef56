//! Final answers: phantoms, receipts, grounding.

use interlock_protocol::{EvidenceId, Outcome, RunState};
use serde_json::json;

use super::fixture::*;
use crate::*;

fn replaced(stage: &mut Stage, text: &str) -> Option<PhantomCategory> {
    let AnswerDecision::Release(answer) = stage.answer(text, &[]) else {
        panic!("blocked")
    };
    assert_eq!(answer.replaced.is_some(), answer.text == SAFE_FAILURE);
    answer.replaced.map(|claim| claim.category)
}

#[test]
fn claims_without_any_tool_call_are_replaced_in_all_four_categories() {
    use PhantomCategory::{Action, FakeToolCall, Metric, State as Condition};
    let cases = [
        ("CPU usage is 45% on delly.", Some(Metric)),
        ("The container is currently running.", Some(Condition)),
        ("```tool\ninfra_query\n```", Some(FakeToolCall)),
        ("I restarted the jellyfin container.", Some(Action)),
        ("I\u{2019}ve **successfully** restarted it", Some(Action)),
        ("Nothing was changed. Which container do you mean?", None),
        ("I could not find a container with that name.", None),
    ];
    for (text, expected) in cases {
        assert_eq!(replaced(&mut Stage::new(), text), expected, "{text}");
    }
}

#[test]
fn a_statement_that_evidence_backs_passes_and_links_to_it() {
    let mut stage = Stage::discovered();
    let evidence = stage.evidence(
        Some(id("lxc:delly:105")),
        guest(RunState::Running, stage.now),
        json!({"cpu_percent": 45.2, "stdout": "jellyfin is running"}),
    );
    let text = "CPU usage is 45% on jellyfin, which is currently running. Memory usage is 97%.";
    let AnswerDecision::Release(answer) = stage.answer(text, &[&evidence]) else {
        panic!("blocked")
    };
    assert_eq!(answer.replaced, None);
    let link = vec![EvidenceId::clone(&evidence.id)];
    let found: Vec<(&str, SpanKind, bool)> = answer
        .spans
        .iter()
        .map(|span| (&text[span.at.clone()], span.kind, span.evidence == link))
        .collect();
    assert_eq!(
        found,
        [
            ("45%", SpanKind::Number, true),
            ("jellyfin", SpanKind::Resource, true),
            ("running", SpanKind::State, true),
            (" Memory usage is 97%.", SpanKind::Claim, false),
            ("97%", SpanKind::Number, false),
        ]
    );
}

#[test]
fn what_was_done_is_rendered_from_receipts_and_a_claim_must_fit_them() {
    let restarted = || {
        let mut stage = Stage::discovered();
        let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
        stage.run(permit, Outcome::Succeeded);
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
        stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        stage
    };
    let cases = [
        ("I restarted jellyfin.", false),
        ("I restarted the container.", false),
        ("I restarted homepage-docker.", true),
        ("I restarted the database.", true),
        ("I deleted jellyfin.", true),
    ];
    for (text, expected) in cases {
        assert_eq!(replaced(&mut restarted(), text).is_some(), expected, "{text}");
    }
    let AnswerDecision::Release(answer) = restarted().answer("Done.", &[]) else {
        panic!("blocked")
    };
    insta::assert_snapshot!(answer.render());
}

#[test]
fn an_id_that_nobody_discovered_is_marked_unsupported() {
    let mut stage = Stage::discovered();
    let AnswerDecision::Release(answer) = stage.answer("See lxc:delly:999 for more.", &[]) else {
        panic!("blocked")
    };
    assert_eq!(answer.spans.len(), 1);
    assert_eq!(answer.spans[0].evidence, []);
}

#[test]
fn after_the_answer_nothing_runs_until_the_next_turn() {
    let mut stage = Stage::discovered();
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Release(_)));
    assert_eq!(
        stage.refused("infra_read", exec("lxc:delly:105", "uptime")).rule,
        Rule::StateMachine
    );
    let agent = stage.agent.clone();
    stage.gate.next_turn(&mut stage.session, &agent, stage.now);
    let _permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
}

#[test]
fn what_people_read_holds_nothing_that_a_screen_acts_on() {
    let spoofed = "x\u{1b}[2K\rsafe\u{202e}";
    let shown = "x\\u{1b}[2K\\rsafe\\u{202e}";
    let named = || ResolvedResource::new(id("lxc:delly:105"), spoofed);
    let command = json!({
        "action": "command", "target_resource_id": "lxc:delly:105", "command": format!("touch {spoofed}"),
    });

    let mut stage = Stage::at_level(interlock_protocol::ControlLevel::Controlled).discover(vec![named()]);
    let held = stage.held("infra_control", command.clone()).explain();

    let mut stage = Stage::new().discover(vec![named()]);
    let decision = stage.propose("infra_control", command);
    let allowed = decision.explain();
    let Decision::Allow(permit) = decision else {
        panic!("{allowed}")
    };
    stage.run(permit, Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    stage.run_read(permit, Vec::new(), json!({}));
    let AnswerDecision::Release(answer) = stage.answer(&format!("Line one\n{spoofed}"), &[]) else {
        panic!("blocked")
    };
    for (what, text) in [("hold", held), ("permit", allowed), ("answer", answer.render())] {
        assert!(text.matches(shown).count() >= 2, "{what}: {text:?}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{what}: {text:?}");
    }
}
