//! Verification: about the written resource, after the write, by code if nobody else.

use interlock_protocol::{
    ContentHash, Expectation, Observation, Outcome, RunIdentity, RunState, Status, UnitActivity, Verification,
};
use jiff::SignedDuration;
use serde_json::json;

use super::fixture::*;
use crate::*;

fn written(outcome: Outcome) -> Stage {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, outcome);
    stage
}

fn outcomes(ends: &[VerificationEnd]) -> Vec<Verification> {
    ends.iter().map(|end| end.outcome).collect()
}

#[test]
fn a_reading_of_another_resource_verifies_nothing() {
    let mut stage = written(Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:141", "ls /x"));
    let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!((settled.ended, stage.state()), (vec![], State::Verifying));
}

#[test]
fn a_reading_that_was_permitted_before_the_write_verifies_nothing() {
    let mut stage = Stage::discovered();
    let early = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    let settled = stage.run_read(early, guest(RunState::Running, stage.now), json!({}));
    assert_eq!((settled.ended, stage.state()), (vec![], State::Verifying));
}

#[test]
fn a_reading_taken_at_its_source_before_the_write_ended_verifies_nothing() {
    let mut stage = written(Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let started = stage.begin(permit);
    let mut evidence = stage.evidence(
        Some(id("lxc:delly:105")),
        guest(RunState::Running, stage.now),
        json!({}),
    );
    evidence.taken_at = stage.now - SignedDuration::from_secs(60);
    let receipt = stage.finish(started, Outcome::Succeeded);
    let settled = stage.settle(&receipt, Some(&evidence), Vec::new());
    assert_eq!((settled.ended, stage.state()), (vec![], State::Verifying));
}

#[test]
fn still_booting_is_not_conclusive_and_may_be_looked_at_again_at_once() {
    let mut stage = written(Outcome::Succeeded);
    for _ in 0..6 {
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
        let settled = stage.run_read(permit, guest(RunState::Starting, stage.now), json!({}));
        assert_eq!((settled.ended, stage.state()), (vec![], State::Verifying));
    }
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!(outcomes(&settled.ended), [Verification::Verified]);
}

#[test]
fn failed_ends_verifying_and_is_reported_as_failed_whatever_the_model_writes() {
    let mut stage = written(Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let settled = stage.run_read(permit, guest(RunState::Stopped, stage.now), json!({}));
    assert_eq!(
        (outcomes(&settled.ended), stage.state()),
        (vec![Verification::Failed], State::Reading)
    );
    let AnswerDecision::Release(answer) = stage.answer("I restarted jellyfin. It works.", &[]) else {
        panic!()
    };
    assert_eq!(answer.text, SAFE_FAILURE);
    insta::assert_snapshot!(answer.head.plain());
}

#[test]
fn a_write_that_failed_or_timed_out_may_still_be_verified() {
    for outcome in [Outcome::Failed, Outcome::TimedOut, Outcome::InterruptedUnknown] {
        let mut stage = written(outcome);
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
        let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        assert_eq!(outcomes(&settled.ended), [Verification::Verified]);
    }
}

#[test]
fn a_free_form_command_is_observed_by_a_later_reading_that_shows_the_state_of_its_resource() {
    let read = |action: &str| json!({"action": action, "target_resource_id": "lxc:delly:105"});
    let file = |path: &str| json!({"action": "file", "target_resource_id": "lxc:delly:105", "path": path});
    let observed = vec![Verification::Observed];
    let cases = [
        ("infra_read", exec("lxc:delly:105", "ls /x"), observed.clone()),
        (
            "infra_read",
            exec("lxc:delly:105", "systemctl status nginx"),
            observed.clone(),
        ),
        (
            "infra_read",
            exec("lxc:delly:105", "journalctl -u nginx -n 5"),
            vec![],
        ),
        (
            "infra_read",
            exec("lxc:delly:105", "tail -n 5 /var/log/syslog"),
            vec![],
        ),
        ("infra_read", exec("lxc:delly:105", "echo done"), vec![]),
        ("infra_read", read("logs"), vec![]),
        ("infra_read", file("/etc/x"), observed.clone()),
        ("infra_read", file("/var/log/x"), vec![]),
        (
            "infra_query",
            json!({"action": "get", "resource_id": "lxc:delly:105"}),
            observed.clone(),
        ),
        ("infra_metrics", json!({"resource_id": "lxc:delly:105"}), vec![]),
        (
            "read_system_logs",
            json!({"target_resource_id": "lxc:delly:105"}),
            vec![],
        ),
        (
            "list_directory",
            json!({"target_resource_id": "lxc:delly:105", "path": "/srv"}),
            observed,
        ),
    ];
    for (tool, arguments, expected) in cases {
        let mut stage = Stage::discovered();
        stage.gate.analyse = interlock_shell::classify;
        let command =
            json!({"action": "command", "target_resource_id": "lxc:delly:105", "command": "touch /x"});
        let permit = stage.allowed("infra_control", command);
        assert_eq!(permit.plan().expectation, Some(Expectation::FreeForm));
        stage.run(permit, Outcome::Succeeded);
        let permit = stage.allowed(tool, arguments.clone());
        let settled = stage.run_read(permit, vec![Observation::Present], json!({"stdout": "/x"}));
        assert_eq!(outcomes(&settled.ended), expected, "{tool} {arguments}");
    }
}

/// Makes an observation of a run that is said to have started then.
type Make<'a> = &'a dyn Fn(RunIdentity, jiff::Timestamp) -> Observation;

/// Whatever the clocks of two machines say, only the machine's own count of runs decides.
#[test]
fn clock_skew_neither_verifies_nor_fails_a_restart() {
    use Comparison::{Conclusive, NotYet, Unchanged};
    let now = start();
    let verified = Conclusive(Verification::Verified);
    let hours = [-48, -1, 0, 1, 48];
    let guest = |run: RunIdentity, at| Observation::Guest {
        state: RunState::Running,
        started_at: Some(at),
        run,
    };
    let unit = |run: RunIdentity, at| Observation::Unit {
        unit: "nginx".to_owned(),
        activity: UnitActivity::Active,
        active_since: Some(at),
        run,
    };
    let container = |run: RunIdentity, at| Observation::Container {
        state: RunState::Running,
        image: None,
        started_at: Some(at),
        run,
        instance: None,
        image_id: None,
        current_image_id: None,
    };
    let restarted = Expectation::UnitRestarted {
        unit: "nginx".to_owned(),
    };
    let kinds: [(Expectation, Make<'_>); 3] = [
        (Expectation::GuestRestarted, &guest),
        (restarted, &unit),
        (Expectation::ContainerRestarted, &container),
    ];
    let named = RunIdentity::named;
    let up = |seconds| RunIdentity {
        id: None,
        seconds: Some(seconds),
    };
    // Before, after, how many seconds have passed here, and what follows.
    let runs = [
        (Some(named("a")), named("a"), 60, Unchanged),
        (Some(named("a")), named("b"), 60, verified),
        (Some(named("a")), RunIdentity::default(), 60, NotYet),
        (Some(RunIdentity::default()), named("b"), 60, NotYet),
        (None, named("b"), 60, NotYet),
        (None, RunIdentity::default(), 60, NotYet),
        (Some(up(5_000)), up(5_060), 60, Unchanged),
        (Some(up(5_000)), up(20), 60, verified),
        // It came up at once, and runs longer now than it did before.
        (Some(up(2)), up(59), 60, Unchanged),
        (Some(up(30)), up(59), 60, NotYet),
        (Some(up(30)), up(40), 60, verified),
        (None, up(40), 60, verified),
        (None, up(59), 60, NotYet),
        (None, up(5_000), 60, NotYet),
    ];
    for (expectation, make) in kinds {
        for skew in hours {
            let there = now + SignedDuration::from_hours(skew);
            for (was, is, passed, expected) in &runs {
                let baseline: Vec<Observation> = was.iter().map(|run| make(run.clone(), there)).collect();
                let seen = [make(is.clone(), there)];
                let look = Look {
                    observations: &seen,
                    taken_at: now + SignedDuration::from_secs(*passed),
                    shows_state: true,
                };
                let before = Before {
                    started_at: now,
                    state: Some("running"),
                    baseline: &baseline,
                };
                assert_eq!(
                    compare(&expectation, look, before),
                    *expected,
                    "{expectation:?}, {skew} hours off: {was:?} -> {is:?}"
                );
            }
        }
    }
}

#[test]
fn an_update_is_verified_by_the_ids_of_container_and_content() {
    use Comparison::{Conclusive, NotYet, Unchanged};
    let (verified, failed) = (
        Conclusive(Verification::Verified),
        Conclusive(Verification::Failed),
    );
    let seen = |name: &str, instance: &str, image_id: &str, current: &str| Observation::Container {
        state: RunState::Running,
        image: Some(name.to_owned()),
        started_at: None,
        run: RunIdentity::default(),
        instance: (!instance.is_empty()).then(|| instance.to_owned()),
        image_id: (!image_id.is_empty()).then(|| image_id.to_owned()),
        current_image_id: (!current.is_empty()).then(|| current.to_owned()),
    };
    let to = |image: &str| Expectation::ContainerImage {
        image: image.to_owned(),
    };
    let was = seen("nginx:latest", "c1", "i1", "i1");
    let pinned = "nginx@sha256:0123";
    let cases = [
        // The tag is the same all along: nothing was made again, whatever was pulled.
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c1", "i1", "i1"),
            Unchanged,
        ),
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c1", "i1", "i2"),
            Unchanged,
        ),
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c2", "i2", "i2"),
            verified,
        ),
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c2", "i1", "i1"),
            verified,
        ),
        // Made again, but from the old content.
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c2", "i1", "i2"),
            failed,
        ),
        (
            to("nginx:latest"),
            Some(&was),
            seen("nginx:latest", "c2", "i2", ""),
            NotYet,
        ),
        (
            to("nginx:latest"),
            None,
            seen("nginx:latest", "c2", "i2", "i2"),
            NotYet,
        ),
        (
            to("nginx:1.29"),
            Some(&was),
            seen("nginx:latest", "c1", "i1", "i1"),
            Unchanged,
        ),
        (
            to("nginx:1.29"),
            Some(&was),
            seen("nginx:1.29", "c2", "i2", "i2"),
            verified,
        ),
        (
            to("nginx:1.29"),
            Some(&was),
            seen("nginx:1.28", "c2", "i2", "i2"),
            failed,
        ),
        (to(pinned), None, seen(pinned, "c2", "i2", "i2"), verified),
        (
            Expectation::ContainerUpdated,
            Some(&was),
            seen("nginx:latest", "c2", "i2", "i2"),
            verified,
        ),
        (
            Expectation::ContainerUpdated,
            Some(&was),
            seen("nginx:latest", "c1", "i1", "i2"),
            Unchanged,
        ),
        (
            Expectation::ContainerUpdated,
            Some(&was),
            seen("other:latest", "c2", "i2", "i2"),
            failed,
        ),
        (
            Expectation::ContainerUpdated,
            None,
            seen("nginx:latest", "c2", "i2", "i2"),
            NotYet,
        ),
    ];
    for (expectation, was, is, expected) in cases {
        let baseline: Vec<Observation> = was.into_iter().cloned().collect();
        assert_eq!(
            compared(&expectation, std::slice::from_ref(&is), &baseline),
            expected,
            "{expectation:?} {is:?}"
        );
    }
}

#[test]
fn what_was_added_rolled_out_replaced_and_noted() {
    use Comparison::{Conclusive, NotYet, Unchanged};
    let (verified, failed) = (
        Conclusive(Verification::Verified),
        Conclusive(Verification::Failed),
    );
    let hash = |text: &str| ContentHash::of(text);
    let file = |text: &str| Observation::File {
        path: "/etc/x".to_owned(),
        hash: Some(hash(text)),
    };
    let after = Observation::FileAfter {
        path: "/etc/x".to_owned(),
        hash: hash("ab"),
    };
    let added = Expectation::FileAppended {
        path: "/etc/x".to_owned(),
        added: hash("b"),
    };
    let replicas = |ready, updated, generation, observed| Observation::Replicas {
        ready,
        wanted: 3,
        updated: Some(updated),
        generation: Some(generation),
        observed_generation: Some(observed),
    };
    let uid = |uid: &str| Observation::Identity { uid: uid.to_owned() };
    let note = Expectation::NoteKept { text: hash("n") };
    let cases = [
        (
            added.clone(),
            vec![file("a"), after.clone()],
            file("ab"),
            verified,
        ),
        (
            added.clone(),
            vec![file("a"), after.clone()],
            file("a"),
            Unchanged,
        ),
        (added.clone(), vec![file("a"), after], file("abc"), failed),
        (added, vec![], file("ab"), NotYet),
        (
            Expectation::RolledOut,
            vec![replicas(3, 3, 4, 4)],
            replicas(3, 3, 4, 4),
            Unchanged,
        ),
        (
            Expectation::RolledOut,
            vec![replicas(3, 3, 4, 4)],
            replicas(3, 3, 5, 4),
            NotYet,
        ),
        (
            Expectation::RolledOut,
            vec![replicas(3, 3, 4, 4)],
            replicas(3, 1, 5, 5),
            NotYet,
        ),
        (
            Expectation::RolledOut,
            vec![replicas(3, 3, 4, 4)],
            replicas(3, 3, 5, 5),
            verified,
        ),
        (Expectation::RolledOut, vec![], replicas(3, 3, 5, 5), NotYet),
        (Expectation::Replaced, vec![uid("a")], uid("a"), Unchanged),
        (Expectation::Replaced, vec![uid("a")], uid("b"), verified),
        (
            Expectation::Replaced,
            vec![uid("a")],
            Observation::Absent,
            verified,
        ),
        (Expectation::Replaced, vec![], uid("b"), NotYet),
        (
            note.clone(),
            vec![],
            Observation::Note { text: hash("n") },
            verified,
        ),
        (note, vec![], Observation::Note { text: hash("m") }, NotYet),
    ];
    for (expectation, baseline, seen, expected) in cases {
        assert_eq!(
            compared(&expectation, std::slice::from_ref(&seen), &baseline),
            expected,
            "{expectation:?} {seen:?}"
        );
    }
}

fn compared(expectation: &Expectation, seen: &[Observation], baseline: &[Observation]) -> Comparison {
    let look = Look {
        observations: seen,
        taken_at: start() + SignedDuration::from_secs(5),
        shows_state: true,
    };
    let before = Before {
        started_at: start(),
        state: Some("running"),
        baseline,
    };
    compare(expectation, look, before)
}

#[test]
fn a_failed_read_verifies_nothing() {
    let mut stage = written(Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    stage.run(permit, Outcome::Failed);
    assert_eq!(stage.state(), State::Verifying);
}

#[test]
fn at_the_deadline_code_takes_the_reading_and_what_stays_unobservable_is_inconclusive() {
    let mut stage = written(Outcome::Succeeded);
    assert_eq!(stage.gate.due_readings(&stage.session, stage.now), []);
    stage.wait(VERIFY_WITHIN);
    let ends = stage.nothing_observable(Moment::Deadline);
    assert_eq!(
        (outcomes(&ends), stage.state()),
        (vec![Verification::Inconclusive], State::Reading)
    );
    let AnswerDecision::Release(answer) = stage.answer("The restart was requested.", &[]) else {
        panic!()
    };
    assert_eq!(answer.status, Status::Unverified);
    insta::assert_snapshot!(answer.head.plain());
}

#[test]
fn code_reads_before_a_forced_conclusion_too() {
    let mut stage = written(Outcome::TimedOut);
    let agent = stage.agent.clone();
    let due = stage.gate.begin_conclusion(&mut stage.session, &agent);
    let evidence = stage.evidence(
        Some(id("lxc:delly:105")),
        guest(RunState::Running, stage.now),
        json!({}),
    );
    let ends = stage
        .gate
        .observe(
            &mut stage.session,
            &due[0],
            Some(&evidence),
            Moment::ForcedConclusion,
            stage.now,
        )
        .unwrap();
    assert_eq!(outcomes(&ends), [Verification::Verified]);
    assert_eq!(stage.session.standing(), Status::Completed);
}

#[test]
fn a_reading_by_code_before_its_deadline_waives_nothing() {
    let mut stage = written(Outcome::Succeeded);
    let agent = stage.agent.clone();
    let due = stage.gate.readings_before_conclusion(&stage.session, &agent);
    let ends = stage
        .gate
        .observe(&mut stage.session, &due[0], None, Moment::Deadline, stage.now)
        .unwrap();
    assert_eq!((ends, stage.state()), (vec![], State::Verifying));
}

#[test]
fn a_forced_conclusion_is_no_waiver() {
    let mut stage = written(Outcome::Succeeded);
    let agent = stage.agent.clone();
    let due = stage.gate.readings_before_conclusion(&stage.session, &agent);
    let moment = Moment::ForcedConclusion;
    let waived = stage
        .gate
        .observe(&mut stage.session, &due[0], None, moment, stage.now);
    assert_eq!(
        (waived, stage.state()),
        (Err(SettleError::NotConcluding(agent.clone())), State::Verifying)
    );
    stage.nothing_observable(moment);
    assert_eq!(stage.state(), State::Reading);
    for (tool, arguments) in [
        ("infra_control", restart("lxc:delly:141")),
        ("infra_read", exec("lxc:delly:141", "ls /x")),
    ] {
        assert_eq!(stage.refused(tool, arguments).rule, Rule::StateMachine);
    }
    stage.gate.next_turn(&mut stage.session, &agent, stage.now);
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:141")).rule,
        Rule::StateMachine,
        "no next turn before the answer"
    );
    assert!(matches!(
        stage.answer("The restart was requested.", &[]),
        AnswerDecision::Release(_)
    ));
    stage.gate.next_turn(&mut stage.session, &agent, stage.now);
    let _permit = stage.allowed("infra_read", exec("lxc:delly:141", "ls /x"));
}

#[test]
fn a_reading_that_shows_the_state_from_before_the_write_is_failed_only_at_the_deadline() {
    let actions = [
        ("shutdown", "running"),
        ("start", "stopped"),
        ("restart", "running"),
    ];
    for (action, was) in actions {
        let before: RunState = was.parse().unwrap();
        for moment in [None, Some(Moment::Deadline), Some(Moment::ForcedConclusion)] {
            let mut stage = Stage::new().discover(vec![jellyfin().in_state(was)]);
            let long_ago = stage.now - SignedDuration::from_hours(1);
            let permit = stage.allowed(
                "infra_control",
                json!({"action": action, "target_resource_id": "lxc:delly:105"}),
            );
            stage.run(permit, Outcome::Succeeded);
            let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
            let settled = stage.run_read(permit, guest(before, long_ago), json!({}));
            assert_eq!(
                (settled.ended, stage.state()),
                (vec![], State::Verifying),
                "{action}: at once"
            );
            let agent = stage.agent.clone();
            let ends = match moment {
                None => {
                    stage.wait(VERIFY_WITHIN);
                    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
                    stage.run_read(permit, guest(before, long_ago), json!({})).ended
                }
                Some(moment) => {
                    let due = match moment {
                        Moment::Deadline => {
                            stage.wait(VERIFY_WITHIN);
                            stage.gate.due_readings(&stage.session, stage.now)
                        }
                        Moment::ForcedConclusion => stage.gate.begin_conclusion(&mut stage.session, &agent),
                    };
                    let seen = stage.evidence(Some(id("lxc:delly:105")), guest(before, long_ago), json!({}));
                    stage
                        .gate
                        .observe(&mut stage.session, &due[0], Some(&seen), moment, stage.now)
                        .unwrap()
                }
            };
            assert_eq!(outcomes(&ends), [Verification::Failed], "{action} {moment:?}");
        }
    }
}

#[test]
fn a_change_that_comes_late_is_still_verified() {
    let mut stage = Stage::discovered();
    let shutdown = json!({"action": "shutdown", "target_resource_id": "lxc:delly:105"});
    let permit = stage.allowed("infra_control", shutdown);
    stage.run(permit, Outcome::Succeeded);
    for (state, expected) in [
        (RunState::Running, vec![]),
        (RunState::Stopping, vec![]),
        (RunState::Stopped, vec![Verification::Verified]),
    ] {
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
        let settled = stage.run_read(permit, guest(state, stage.now), json!({}));
        assert_eq!(outcomes(&settled.ended), expected, "{state}");
    }
}

#[test]
fn a_lost_write_counts_as_interrupted_and_must_be_looked_at() {
    for begins in [false, true] {
        let mut stage = Stage::discovered();
        let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
        let lost = permit.id().clone();
        if begins {
            let started = stage.begin(permit);
            drop(started);
        } else {
            let before = guest(RunState::Running, jiff::Timestamp::UNIX_EPOCH);
            stage.gate.baseline(&mut stage.session, &lost, before);
            drop(permit);
        }
        assert_eq!(stage.state(), State::Writing);
        let pending = stage
            .gate
            .lost(&mut stage.world, &mut stage.session, &lost, stage.now)
            .unwrap()
            .unwrap();
        assert_eq!(
            (pending.permit, stage.state(), stage.world.writers().count()),
            (lost.clone(), State::Verifying, 0)
        );
        assert_eq!(
            stage.session.writes()[0].receipt.outcome,
            Outcome::InterruptedUnknown
        );
        let again = stage
            .gate
            .lost(&mut stage.world, &mut stage.session, &lost, stage.now);
        assert_eq!(again, Err(SettleError::NotOutstanding(lost)));
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
        stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        assert_eq!(
            stage.session.writes()[0].verification,
            Some(Verification::Verified)
        );
    }
}

#[test]
fn a_lost_read_is_forgotten_and_may_be_tried_again() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let lost = permit.id().clone();
    drop(permit);
    let pending = stage
        .gate
        .lost(&mut stage.world, &mut stage.session, &lost, stage.now);
    assert_eq!((pending, stage.session.writes().len()), (Ok(None), 0));
    let _permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
}

#[test]
fn evidence_of_another_call_or_session_is_not_taken() {
    let mut stage = written(Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let started = stage.begin(permit);
    let receipt = stage.finish(started, Outcome::Succeeded);
    let good = stage.evidence(
        Some(id("lxc:delly:105")),
        guest(RunState::Running, stage.now),
        json!({}),
    );
    let mut wrong = [good.clone(), good.clone(), good.clone()];
    wrong[0].session = "ses_other".parse().unwrap();
    wrong[1].call = "call_other".parse().unwrap();
    wrong[2].execution = execution("exe_other");
    let refused = Err(SettleError::OtherCall(receipt.permit.clone()));
    for evidence in &wrong {
        let report = Report {
            receipt: &receipt,
            evidence: Some(evidence),
            discovered: Vec::new(),
        };
        let settled = stage
            .gate
            .settle(&mut stage.world, &mut stage.session, report, stage.now);
        assert_eq!(settled, refused);
    }
    let settled = stage.settle(&receipt, Some(&good), Vec::new());
    assert_eq!(outcomes(&settled.ended), [Verification::Verified]);
}

#[test]
fn a_clock_that_runs_ahead_does_not_put_verification_out_of_reach() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    let started = stage.begin(permit);
    let mut receipt = stage.finish(started, Outcome::Succeeded);
    receipt.finished_at = Some(stage.now + SignedDuration::from_hours(1));
    let pending = stage.settle(&receipt, None, Vec::new()).required.unwrap();
    assert_eq!(pending.ended_at, stage.now);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!(outcomes(&settled.ended), [Verification::Verified]);
}

/// The plan of a restart that an earlier process was permitted.
fn old_plan() -> std::sync::Arc<Plan> {
    let mut old = Stage::discovered();
    let permit = old.allowed("infra_control", restart("lxc:delly:105"));
    std::sync::Arc::new(permit.plan().clone())
}

#[test]
fn an_interrupted_write_is_observed_before_anything_else_is_written() {
    let mut stage = Stage::discovered();
    let agent = stage.agent.clone();
    let write = InterruptedWrite {
        permit: "prm_old".parse().unwrap(),
        plan: old_plan(),
        started_at: stage.now,
        approved_by: None,
        baseline: guest(RunState::Running, jiff::Timestamp::UNIX_EPOCH),
    };
    stage
        .gate
        .interrupted(&mut stage.session, write, stage.now)
        .unwrap();
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:141")).rule,
        Rule::StateMachine
    );
    assert_eq!(stage.session.standing(), Status::Unverified);
    assert_eq!(
        stage.session.writes()[0].receipt.outcome,
        Outcome::InterruptedUnknown
    );
    let stored = serde_json::to_string(&stage.session.pending(&agent)[0]).unwrap();
    let mut resumed = Stage::discovered();
    resumed.gate.restore(
        &mut resumed.session,
        &agent,
        serde_json::from_str(&stored).unwrap(),
    );
    assert_eq!(resumed.state(), State::Verifying);
}

#[test]
fn a_resumed_session_can_tell_what_it_did() {
    let before = written(Outcome::Succeeded);
    let record = before.session.writes()[0].clone();
    let agent = before.agent.clone();
    let pending = before.session.pending(&agent)[0].clone();
    let mut stage = Stage::discovered();
    stage.now = before.now;
    stage.gate.restore(&mut stage.session, &agent, pending);
    stage
        .gate
        .restore_write(&mut stage.session, record.clone(), stage.now)
        .unwrap();
    assert_eq!(stage.session.pending(&agent).len(), 1);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!(
        stage.session.writes()[0].verification,
        Some(Verification::Verified)
    );
    let AnswerDecision::Release(answer) = stage.answer("I restarted jellyfin.", &[]) else {
        panic!()
    };
    assert_eq!((answer.replaced, answer.head.actions.len()), (None, 1));
    // A record alone waits to be looked at, and another session's is not taken.
    let mut alone = Stage::discovered();
    alone
        .gate
        .restore_write(&mut alone.session, record.clone(), alone.now)
        .unwrap();
    assert_eq!(alone.state(), State::Verifying);
    let mut foreign = record;
    foreign.receipt.session = "ses_other".parse().unwrap();
    assert!(
        alone
            .gate
            .restore_write(&mut alone.session, foreign, alone.now)
            .is_err()
    );
}

#[test]
fn comparing_an_expectation_with_what_was_seen() {
    use Comparison::{Conclusive, NotYet, Unchanged};
    let now = Stage::new().now;
    let before = now - SignedDuration::from_secs(60);
    let verified = Conclusive(Verification::Verified);
    let failed = Conclusive(Verification::Failed);
    let unit = |activity, since| {
        vec![Observation::Unit {
            unit: "nginx".to_owned(),
            activity,
            active_since: since,
            run: since.map(run).unwrap_or_default(),
        }]
    };
    let other_unit = vec![Observation::Unit {
        unit: "sshd".to_owned(),
        activity: UnitActivity::Failed,
        active_since: None,
        run: RunIdentity::default(),
    }];
    let replicas = |ready, wanted| {
        vec![Observation::Replicas {
            ready,
            wanted,
            updated: None,
            generation: None,
            observed_generation: None,
        }]
    };
    let restarted = Expectation::UnitRestarted {
        unit: "nginx".to_owned(),
    };
    let stopped = Expectation::GuestState {
        state: RunState::Stopped,
    };
    let file = |hash| {
        vec![Observation::File {
            path: "/etc/x".to_owned(),
            hash,
        }]
    };
    let content = interlock_protocol::ContentHash::of("x");
    let written = Expectation::FileHash {
        path: "/etc/x".to_owned(),
        hash: content,
    };
    let cases = [
        (stopped.clone(), guest(RunState::Stopped, before), verified),
        (stopped.clone(), guest(RunState::Stopping, before), NotYet),
        (stopped.clone(), guest(RunState::Running, before), failed),
        (stopped.clone(), guest(RunState::Paused, before), Unchanged),
        (stopped.clone(), vec![Observation::Absent], failed),
        (stopped, vec![], NotYet),
        (
            Expectation::GuestRestarted,
            guest(RunState::Running, now),
            verified,
        ),
        (
            Expectation::GuestRestarted,
            guest(RunState::Running, before),
            Unchanged,
        ),
        (
            Expectation::GuestRestarted,
            vec![Observation::Guest {
                state: RunState::Running,
                started_at: Some(now),
                run: RunIdentity::default(),
            }],
            NotYet,
        ),
        (restarted.clone(), unit(UnitActivity::Active, Some(now)), verified),
        (restarted.clone(), unit(UnitActivity::Activating, None), NotYet),
        (restarted.clone(), unit(UnitActivity::Failed, None), failed),
        (restarted, other_unit, NotYet),
        (written.clone(), file(Some(content)), verified),
        (
            written.clone(),
            file(Some(interlock_protocol::ContentHash::of("y"))),
            failed,
        ),
        (written, file(None), failed),
        (Expectation::Absent, vec![Observation::Absent], verified),
        (Expectation::Absent, vec![Observation::Present], Unchanged),
        (Expectation::Absent, guest(RunState::Stopping, before), NotYet),
        (Expectation::ReadyReplicas { count: 3 }, replicas(1, 3), NotYet),
        (Expectation::ReadyReplicas { count: 3 }, replicas(3, 3), verified),
        (Expectation::ReadyReplicas { count: 3 }, replicas(2, 2), failed),
        (Expectation::FreeForm, vec![], Conclusive(Verification::Observed)),
    ];
    let mut baseline = guest(RunState::Running, before);
    baseline.extend(unit(UnitActivity::Active, Some(before)));
    for (expectation, seen, expected) in cases {
        let look = Look {
            observations: &seen,
            taken_at: now,
            shows_state: true,
        };
        assert_eq!(
            compare(
                &expectation,
                look,
                Before {
                    started_at: now,
                    state: Some("paused"),
                    baseline: &baseline,
                }
            ),
            expected,
            "{expectation:?} {seen:?}"
        );
    }
}

#[test]
fn a_migration_is_verified_by_the_node_that_the_guest_is_on() {
    let mut stage = Stage::discovered();
    let migrate =
        json!({"action": "migrate", "target_resource_id": "lxc:delly:105", "target_node": "minipc"});
    let permit = stage.allowed("infra_control", migrate);
    let expected = Expectation::Property {
        name: "node".to_owned(),
        value: "minipc".into(),
    };
    assert_eq!(permit.plan().expectation, Some(expected));
    stage.run(permit, Outcome::Succeeded);
    let node = |name: &str| {
        vec![
            Observation::Present,
            Observation::Property {
                name: "node".to_owned(),
                value: name.into(),
            },
        ]
    };
    let permit = stage.allowed(
        "infra_query",
        json!({"action": "get", "resource_id": "lxc:delly:105"}),
    );
    let settled = stage.run_read(permit, node("minipc"), json!({}));
    assert_eq!(outcomes(&settled.ended), [Verification::Verified]);
}

#[test]
fn a_migration_needs_a_node_and_a_guest() {
    let mut stage = Stage::discovered();
    for arguments in [
        json!({"action": "migrate", "target_resource_id": "lxc:delly:105"}),
        json!({"action": "migrate", "target_resource_id": "lxc:delly:105", "target_node": ""}),
        json!({"action": "migrate", "target_resource_id": "node:delly", "target_node": "minipc"}),
    ] {
        let refusal = stage.refused("infra_control", arguments.clone());
        assert_eq!(
            refusal.code,
            interlock_protocol::ErrorCode::InvalidInput,
            "{arguments}"
        );
    }
}
