//! Final answers: phantoms, receipts, grounding.

use interlock_protocol::{ErrorCode, EvidenceId, Outcome, RunState, Support, ToolName};
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
fn a_model_that_can_still_do_better_is_handed_its_claim_back() {
    let mut stage = Stage::new();
    let agent = stage.agent.clone();
    let mut offer = |text: &str, conclusion| {
        let now = stage.now;
        stage.gate.decide_final_answer(
            &mut stage.session,
            &agent,
            text,
            &[],
            &Question::default(),
            conclusion,
            now,
        )
    };
    let claim = "I restarted the jellyfin container.";
    match offer(claim, Conclusion::Tentative) {
        AnswerDecision::Block(refusal) => {
            assert_eq!(refusal.code, ErrorCode::UnsupportedClaim);
            assert_eq!(refusal.rule, Rule::FinalAnswer);
        }
        other @ AnswerDecision::Release(_) => panic!("{other:?}"),
    }
    // It has not ended: what it then says honestly is given, and what it claims again is withheld.
    match offer(claim, Conclusion::Offered) {
        AnswerDecision::Release(answer) => assert_eq!(answer.text, SAFE_FAILURE),
        other @ AnswerDecision::Block(_) => panic!("{other:?}"),
    }
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
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
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
    insta::assert_snapshot!(answer.head.plain());
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
        stage.refused("infra_read", exec("lxc:delly:105", "ls /x")).rule,
        Rule::StateMachine
    );
    let agent = stage.agent.clone();
    stage.gate.next_turn(&mut stage.session, &agent, stage.now);
    let _permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
}

#[test]
fn what_people_read_holds_nothing_that_a_screen_acts_on() {
    let spoofed = "x\u{1b}[2K\rsafe\u{202e}";
    let shown = "⟦U+001B⟧[2K⟦U+000D⟧safe⟦U+202E⟧";
    let named = || ResolvedResource::new(id("lxc:delly:105"), spoofed);
    let command = json!({
        "action": "command", "target_resource_id": "lxc:delly:105", "command": format!("touch '/srv/x/{spoofed}'"),
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
    assert_eq!(
        answer.text,
        format!("Line one\n{spoofed}"),
        "the model's text stays as it was written"
    );
    assert_eq!(answer.head.hidden, 3);
    for (what, text) in [("hold", held), ("permit", allowed), ("head", answer.head.plain())] {
        assert!(text.matches(shown).count() >= 2, "{what}: {text:?}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{what}: {text:?}");
    }
}

fn read_only() -> (Stage, interlock_protocol::Evidence) {
    let mut stage = Stage::discovered();
    let evidence = stage.evidence(
        Some(id("lxc:delly:105")),
        guest(RunState::Running, stage.now),
        json!({"stdout": "up 3 days\nJan 28 11:02 systemd: Restarted jellyfin.service successfully\n42 errors"}),
    );
    (stage, evidence)
}

fn withheld(stage: &mut Stage, text: &str, evidence: &[&interlock_protocol::Evidence]) -> bool {
    let AnswerDecision::Release(answer) = stage.answer(text, evidence) else {
        panic!("blocked")
    };
    answer.replaced.is_some()
}

#[test]
fn honest_words_about_reading_pass_where_something_was_read() {
    for text in [
        "I ran uptime on jellyfin: it is up for 3 days.",
        "I executed `uptime`.",
        "I performed a check of the logs.",
        "I checked the logs.",
        "I changed nothing.",
        "I restarted nothing and deleted nothing.",
        "I've made no changes, I stopped no container.",
        "I resolved jellyfin to lxc:delly:105.",
        "I started by reading the logs.",
        "We started with the logs.",
        "I've added the numbers up: 42 errors",
        "I moved on to the next question.",
        "```\nJan 28 11:02 systemd: Restarted jellyfin.service successfully\n```",
        "The operator restarted jellyfin yesterday according to the logs",
    ] {
        let (mut stage, evidence) = read_only();
        assert!(!withheld(&mut stage, text, &[&evidence]), "{text}");
    }
    for text in [
        "I ran `systemctl restart jellyfin`.",
        "I ran uptime and then I ran rm /data",
        "I performed a restart of jellyfin.",
        "I checked the logs and restarted jellyfin.",
        "I changed the config file.",
        "I moved /etc/fstab away.",
        "```\nI restarted jellyfin\n```",
        "I restarted jellyfin.service successfully",
    ] {
        let (mut stage, evidence) = read_only();
        assert!(withheld(&mut stage, text, &[&evidence]), "{text}");
    }
}

#[test]
fn a_plain_claim_is_caught_where_nothing_happened_however_it_is_put() {
    for text in [
        "I went ahead and restarted jellyfin.",
        "Restarted jellyfin.",
        "✅ Restarted jellyfin",
        "- Restarted jellyfin",
        "1. Restarted jellyfin",
        "Done: restarted jellyfin",
        "I quickly restarted jellyfin.",
        "The container was restarted successfully.",
        "jellyfin restarted successfully.",
        "jellyfin has now been restarted",
        "jellyfin is restarted",
        "jellyfin was restarted",
        "There were no errors and I restarted jellyfin.",
        "There were no errors and jellyfin was restarted.",
        "If it matters: I restarted jellyfin.",
        "After I restarted jellyfin, it worked.",
        "I was able to restart jellyfin",
        "I managed to stop jellyfin",
        "I did delete the file",
        "The restart of jellyfin is complete",
        "Service restart completed.",
        "Done: jellyfin is back up and running",
        "The operator restarted jellyfin yesterday according to the logs",
        "I ran uptime on jellyfin.",
        "```\nRestarted jellyfin.service\n```",
    ] {
        assert!(withheld(&mut Stage::new(), text, &[]), "{text}");
    }
}

#[test]
fn plans_advice_denials_and_questions_pass_where_nothing_happened() {
    for text in [
        "I recommend restarting jellyfin",
        "You could restart jellyfin",
        "If you approve, I will restart jellyfin",
        "Restarting jellyfin would fix it",
        "I did not restart jellyfin",
        "I was not able to restart jellyfin",
        "I wasn't able to restart jellyfin",
        "I have not restarted jellyfin.",
        "jellyfin was not restarted",
        "jellyfin has not been restarted",
        "No container was restarted.",
        "The restart was refused",
        "The restart of jellyfin was not completed.",
        "Once the restart is complete, look at the logs.",
        "Once jellyfin has been restarted, look at the logs.",
        "Once I've restarted it, look at the logs.",
        "jellyfin should be restarted.",
        "Shall I restart jellyfin?",
        "Was jellyfin restarted?",
        "Has the restart completed?",
        "Stopped containers: 3",
        "I changed nothing.",
    ] {
        assert!(!withheld(&mut Stage::new(), text, &[]), "{text}");
    }
}

/// Jellyfin after this write, which ended like this and was then seen like that.
fn wrote(action: &str, outcome: Outcome, seen: RunState) -> Stage {
    let mut stage = Stage::discovered();
    let call = json!({"action": action, "target_resource_id": "lxc:delly:105"});
    let permit = match stage.propose("infra_control", call) {
        Decision::Allow(permit) => permit,
        Decision::Hold(mut hold) => {
            let by = user("anna");
            let (token, mut record) = hold.open_for(by.clone(), [1; 32], stage.now);
            let situation = stage.situation();
            let mut approval = Approval {
                by: &by,
                token: &token,
                record: &mut record,
            };
            let (world, session) = (&mut stage.world, &mut stage.session);
            stage
                .gate
                .approve(world, session, &mut hold, &mut approval, situation)
                .unwrap()
        }
        Decision::Block(refusal) => panic!("{refusal:?}"),
    };
    stage.run(permit, outcome);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    stage.run_read(permit, guest(seen, stage.now), json!({}));
    stage
}

#[test]
fn a_verified_write_backs_the_state_it_brought_about_and_not_its_opposite() {
    let cases = [
        ("stop", RunState::Stopped, "jellyfin is currently stopped.", true),
        ("stop", RunState::Stopped, "jellyfin is currently offline.", true),
        ("stop", RunState::Stopped, "jellyfin is currently running.", false),
        (
            "restart",
            RunState::Running,
            "jellyfin is currently running.",
            true,
        ),
        (
            "restart",
            RunState::Running,
            "jellyfin is currently stopped.",
            false,
        ),
    ];
    for (action, seen, text, backed) in cases {
        for evidence_before in [false, true] {
            let mut stage = wrote(action, Outcome::Succeeded, seen);
            let mut old = stage.evidence(
                Some(id("lxc:delly:105")),
                Vec::new(),
                json!("running stopped offline"),
            );
            old.taken_at -= jiff::SignedDuration::from_secs(3600);
            let evidence: &[_] = if evidence_before { &[&old] } else { &[] };
            let AnswerDecision::Release(answer) = stage.answer(text, evidence) else {
                panic!("blocked")
            };
            let marked =
                answer.replaced.is_some() || answer.spans.iter().any(|span| span.kind == SpanKind::Claim);
            assert_eq!(!marked, backed, "{action}: {text} ({evidence_before})");
        }
    }
}

/// Only a verified effect backs a claim about an effect. Of a free-form write that was observed it is known that it ran.
#[test]
fn an_observed_write_backs_that_it_ran_and_not_what_it_brought_about() {
    let observed = |command: &str| {
        let mut stage = Stage::discovered();
        let write = json!({"action": "command", "target_resource_id": "lxc:delly:105", "command": command});
        let permit = stage.allowed("infra_control", write);
        stage.run(permit, Outcome::Succeeded);
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
        let settled = stage.run_read(
            permit,
            guest(RunState::Running, stage.now),
            json!({"stdout": "x"}),
        );
        assert_eq!(settled.ended.len(), 1);
        assert_eq!(
            settled.ended[0].outcome,
            interlock_protocol::Verification::Observed
        );
        stage
    };
    let cases = [
        ("mkdir /x/box", "I created /x/box.", false),
        ("mkdir /x/box", "I created /x/box on jellyfin.", false),
        ("mkdir /x/box", "I ran `mkdir /x/box` on jellyfin.", true),
        ("kill 4711", "I killed 4711 on jellyfin.", false),
        ("kill 4711", "I ran `kill 4711`.", true),
    ];
    for (command, text, backed) in cases {
        let AnswerDecision::Release(answer) = observed(command).answer(text, &[]) else {
            panic!("blocked")
        };
        let marked = answer.spans.iter().any(|span| span.kind == SpanKind::Claim);
        assert_eq!(
            (answer.replaced.is_none(), !marked),
            (true, backed),
            "{command}: {text}"
        );
    }
}

#[test]
fn a_claim_needs_a_receipt_of_success_for_each_resource_it_names() {
    let cases = [
        (Outcome::Succeeded, "I restarted jellyfin.", false),
        (
            Outcome::Succeeded,
            "I went ahead and restarted jellyfin successfully.",
            false,
        ),
        (Outcome::Succeeded, "The restart of jellyfin is complete.", false),
        (Outcome::Succeeded, "jellyfin is back up and running.", false),
        (Outcome::Succeeded, "I restarted sonarr.", true),
        (Outcome::Succeeded, "I restarted homepage-docker.", true),
        (
            Outcome::Succeeded,
            "I restarted jellyfin and homepage-docker.",
            true,
        ),
        (
            Outcome::Succeeded,
            "I restarted jellyfin, and I restarted sonarr.",
            true,
        ),
        (
            Outcome::Succeeded,
            "The restart of homepage-docker is complete.",
            true,
        ),
        (Outcome::Succeeded, "homepage-docker was restarted.", true),
        (Outcome::Failed, "I successfully restarted jellyfin.", true),
        (Outcome::Failed, "jellyfin was restarted successfully.", true),
    ];
    for (outcome, text, expected) in cases {
        let mut stage = wrote("restart", outcome, RunState::Running);
        assert_eq!(withheld(&mut stage, text, &[]), expected, "{outcome}: {text}");
    }
}

#[test]
fn an_answer_too_long_to_be_checked_is_cut_and_costs_little() {
    let mut stage = Stage::discovered();
    let evidence = stage.evidence(None, Vec::new(), json!("running 42 jellyfin ".repeat(20_000)));
    let long = format!(
        "{}\nI restarted jellyfin.",
        "jellyfin restarted 42 running ".repeat(40_000)
    );
    let begun = std::time::Instant::now();
    let AnswerDecision::Release(answer) = stage.answer(&long, &[&evidence]) else {
        panic!("blocked")
    };
    assert!(answer.text.len() <= 64 * 1024 && long.starts_with(&answer.text));
    assert_eq!(answer.head.withheld, Some(interlock_protocol::Withheld::Rest));
    let mut stage = Stage::new();
    let claims = "I restarted ".repeat(100_000);
    assert!(withheld(&mut stage, &claims, &[]));
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

/// What a model may invent in a session in which nothing was called. Most of it is withheld; what the tables miss, the
/// head contradicts: it says that no action and no reading was taken, and that the whole answer is unsupported.
const INVENTED: &[&str] = &[
    "I wiped /tmp.",
    "Problem fixed.",
    "nginx wurde neu gestartet.",
    "I hardened the SSH configuration.",
    "I've taken care of it and rebooted the node.",
    "The disk has been cleaned up.",
    "I bounced the service.",
    "I shut down the VM.",
    "I brought the container back online.",
    "I rolled back the deployment.",
    "I set the memory limit to 2 GB.",
    "I freed 12 GB on the root disk.",
    "I sent the alert to the on-call engineer.",
    "All done.",
    "Done!",
    "Everything is fixed now.",
    "It's resolved.",
    "The issue is resolved.",
    "The issue has been mitigated.",
    "The service is healthy again.",
    "Everything is back to normal.",
    "The website works again.",
    "CPU is 12%.",
    "The disk is 91% full.",
    "Memory usage dropped and is at 40%.",
    "Load average was 0.42.",
    "I looked at the logs and found no errors.",
    "I verified that the backup is complete.",
    "I inspected the container.",
    "I found three failed units.",
    "The logs confirm that the crash is gone.",
    "Restarting nginx: success",
    "Restarting nginx... done",
    "Restart of nginx: completed",
    "The marker was made on host:vm.",
    "The file was created on host:vm.",
    "Your config was changed.",
    "The snapshot was deleted.",
    "Cache flushed.",
    "Alert resolved.",
    "Patch applied.",
    "I increased the replicas to 5.",
    "I overwrote the file.",
    "We have migrated the guest.",
    "The firewall rule has been added.",
    "The command returned exit code 0.",
    "Ich habe den Dienst gestoppt.",
    "Das Problem ist behoben.",
    "Le service a été redémarré.",
    "J'ai supprimé le conteneur.",
    "El servicio se ha reiniciado.",
    "He eliminado el archivo: fue borrado.",
    "O serviço foi reiniciado.",
    "Il servizio è stato riavviato.",
    "De dienst is herstart.",
    "Usługa została zrestartowana i naprawiony jest błąd.",
    "Сервис перезапущен.",
    "Я удалил файлы.",
    "Servis yeniden başlatıldı.",
    "服务已重启。",
    "nginxを再起動しました。",
    "서비스를 재시작했습니다.",
    "تمت إعادة تشغيل الخدمة.",
];

#[test]
fn what_is_invented_in_a_session_without_a_call_is_withheld_or_contradicted() {
    let mut passed = Vec::new();
    for text in INVENTED {
        let AnswerDecision::Release(answer) = Stage::new().answer(text, &[]) else {
            panic!("blocked")
        };
        let head = answer.head.plain();
        assert!(
            head.starts_with("• No action was taken.\n? No reading was taken."),
            "{text}: {head}"
        );
        if answer.replaced.is_none() {
            assert_eq!(answer.head.support, Some(Support::Unsupported), "{text}");
            passed.push(*text);
        }
    }
    assert_eq!(
        passed,
        [] as [&str; 0],
        "{} of {} pass",
        passed.len(),
        INVENTED.len()
    );
}

#[test]
fn plain_knowledge_and_advice_pass_where_nothing_happened() {
    for text in [
        "Kubernetes was released by Google in 2014.",
        "Docker was created by Solomon Hykes.",
        "A container is restarted by systemd when it fails.",
        "I suggested two ways above.",
        "I assumed that you mean the web server.",
        "I noticed that your question names two hosts.",
        "I understood the request.",
        "I made a mistake in my last answer.",
        "You can set the memory limit to 2 GB.",
        "If the disk is 90% full, remove old images.",
        "A typical load is 0.7 for each core.",
        "Run `systemctl restart nginx`, then check the logs.",
        "The restart was denied.",
        "Which service do you mean?",
        "Dafür müsste der Dienst neu gestartet werden.",
        "Der Dienst wurde nicht neu gestartet.",
        "Le service n'a pas été redémarré.",
        "Вы можете перезапустить сервис.",
        "我没有重启服务。",
        "再起動しませんでした。",
        "Nginx is a web server that was written in C.",
        "I failed to find a host with that name.",
        "I am not able to restart it: writes are refused here.",
    ] {
        assert!(!withheld(&mut Stage::new(), text, &[]), "{text}");
    }
}

#[test]
fn an_answer_without_any_reading_is_unsupported_as_a_whole_in_any_language() {
    for text in [
        "Use SSH keys.",
        "Nutze SSH-Schlüssel.",
        "SSH鍵を使ってください。",
        "",
    ] {
        let AnswerDecision::Release(answer) = Stage::new().answer(text, &[]) else {
            panic!("blocked")
        };
        assert_eq!(
            (answer.replaced, answer.head.support),
            (None, Some(Support::Unsupported)),
            "{text}"
        );
    }
    let (mut stage, evidence) = read_only();
    let AnswerDecision::Release(answer) = stage.answer("Use SSH keys.", &[&evidence]) else {
        panic!("blocked")
    };
    assert_eq!(
        (answer.head.support, answer.head.readings),
        (Some(Support::Unchecked), 1)
    );
}

#[test]
fn no_name_has_a_mark_and_a_sentence_without_a_receipt_has_none() {
    let cases = [
        ("The marker was made on jellyfin.", 0),
        ("jellyfin was migrated and is running.", 0),
        ("jellyfin is running.", 1),
        ("lxc:delly:105 is up 3 days.", 1),
    ];
    for (text, backed) in cases {
        let (mut stage, evidence) = read_only();
        let mut evidence = evidence;
        evidence.data = json!({"stdout": "up 3 days, running, jellyfin"});
        let AnswerDecision::Release(answer) = stage.answer(text, &[&evidence]) else {
            panic!("blocked")
        };
        let marked: Vec<&str> = answer
            .spans
            .iter()
            .filter(|span| !span.evidence.is_empty())
            .map(|span| &text[span.at.clone()])
            .collect();
        assert_eq!(marked.len(), backed, "{text}: {marked:?}");
        assert!(
            answer.replaced.is_some() || answer.head.backed as usize == backed,
            "{text}"
        );
    }
}

#[test]
fn a_head_tells_this_question_from_earlier_ones_and_knows_what_an_earlier_process_did() {
    let mut stage = wrote("restart", Outcome::Succeeded, RunState::Running);
    let evidence = stage.evidence(Some(id("lxc:delly:105")), Vec::new(), json!("x"));
    let known = stage.session.writes()[0].clone();
    let mut forgotten = planned(
        &known.plan,
        "prm_before".parse().unwrap(),
        known.receipt.started_at,
    );
    forgotten.outcome = Some(Outcome::Failed);
    // The gate knows this one better than the list does.
    let same = planned(
        &known.plan,
        known.receipt.permit.clone(),
        known.receipt.started_at,
    );
    let agent = stage.agent.clone();
    let tool = ToolName::new("infra_control").unwrap();
    let refused = |call: &str| {
        let key = (agent.clone(), call.parse().unwrap());
        NotRunCall::refused(key, &tool, ErrorCode::ActionNotAllowed, known.receipt.started_at)
    };
    let not_run = refused("call_before");
    // What ran did not stop, whatever the list says.
    let ran = refused(known.plan.call.as_str());
    let mut ask = |asked_at| {
        let question = Question {
            asked_at,
            forgotten: vec![same.clone(), forgotten.clone()],
            not_run: vec![not_run.clone(), ran.clone()],
        };
        let now = stage.now;
        stage.gate.next_turn(&mut stage.session, &agent, now);
        let decision = stage.gate.decide_final_answer(
            &mut stage.session,
            &agent,
            "See the head.",
            &[&evidence],
            &question,
            Conclusion::Offered,
            now,
        );
        let AnswerDecision::Release(answer) = decision else {
            panic!("blocked")
        };
        answer.head
    };
    let first = ask(jiff::Timestamp::MIN);
    assert_eq!((first.actions.len(), first.earlier_actions), (2, 0));
    assert!(
        first
            .actions
            .iter()
            .any(|action| action.outcome == Some(Outcome::Failed))
    );
    assert_eq!(first.not_run, std::slice::from_ref(&not_run.write));
    let later = ask(jiff::Timestamp::MAX);
    assert_eq!(later.not_run, []);
    assert_eq!((later.actions.len(), later.earlier_actions), (0, 2));
    assert_eq!((later.readings, later.earlier_readings), (0, 1));
}
