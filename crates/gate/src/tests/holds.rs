//! Holds: bound to their plan, decided once, in time, by the right person.

use interlock_protocol::{CallId, ControlLevel, ErrorCode, Identity, IdentityFact, Outcome};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::fixture::*;
use crate::*;

fn stage() -> Stage {
    Stage::at_level(ControlLevel::Controlled).discover(vec![delly(), jellyfin(), homepage()])
}

fn approve(stage: &mut Stage, hold: &mut Hold, by: &str, random: [u8; 32]) -> Result<Permit, Box<Refusal>> {
    let (token, mut record) = hold.open_for(user(by), random, stage.now);
    approve_with(stage, hold, by, &token, &mut record)
}

fn approve_with(
    stage: &mut Stage,
    hold: &mut Hold,
    by: &str,
    token: &ApprovalToken,
    record: &mut TokenRecord,
) -> Result<Permit, Box<Refusal>> {
    let by = user(by);
    let situation = stage.situation();
    let mut approval = Approval {
        by: &by,
        token,
        record,
    };
    stage.gate.approve(
        &mut stage.world,
        &mut stage.session,
        hold,
        &mut approval,
        situation,
    )
}

/// Anna replaces the arguments.
fn edit(stage: &mut Stage, hold: &mut Hold, arguments: Value) -> Result<Hold, Box<Refusal>> {
    let Value::Object(arguments) = arguments else {
        panic!("an object")
    };
    let situation = stage.situation();
    let by = user("anna");
    stage
        .gate
        .edit(&stage.world, &mut stage.session, hold, &by, arguments, situation)
}

#[test]
fn an_approved_hold_gives_the_permit_for_its_plan_and_no_other() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    assert_eq!(stage.state(), State::Reading);
    let permit = approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap();
    assert_eq!((permit.plan_hash(), permit.plan()), (hold.plan_hash, &hold.plan));
    assert_eq!(permit.approved_by(), Some(&user("anna")));
    stage.run(permit, Outcome::Succeeded);
    assert_eq!(stage.state(), State::Verifying);
}

#[test]
fn two_approvals_of_one_hold_and_exactly_one_wins() {
    let mut stage = stage();
    let hold = stage.held("infra_control", restart("lxc:delly:105"));
    let (mut first, mut second) = (hold.clone(), hold);
    let permit = approve(&mut stage, &mut first, "anna", [1; 32]).unwrap();
    stage.run(permit, Outcome::Succeeded);
    let refusal = approve(&mut stage, &mut second, "boris", [2; 32]).unwrap_err();
    assert_eq!(refusal.rule, Rule::Hold);
}

#[test]
fn a_token_works_for_its_approver_once_and_for_ten_minutes() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    let (token, record) = hold.open_for(user("anna"), [1; 32], stage.now);
    let wrong = ApprovalToken::from_bytes([2; 32]);
    let mut used = record.clone();
    used.used_at = Some(stage.now);
    let mut late = record.clone();
    late.expires_at = stage.now;
    let cases: [(&str, &ApprovalToken, TokenRecord); 4] = [
        ("anna", &wrong, record.clone()),
        ("boris", &token, record.clone()),
        ("anna", &token, used),
        ("anna", &token, late),
    ];
    for (by, token, mut record) in cases {
        let refusal = approve_with(&mut stage, &mut hold, by, token, &mut record).unwrap_err();
        assert_eq!(
            (refusal.rule, hold.status.clone()),
            (Rule::Hold, HoldStatus::Pending)
        );
    }
    assert!(record.expires_at <= stage.now + SignedDuration::from_mins(10));
    assert_eq!(format!("{token:?}"), "ApprovalToken(hidden)");
    assert!(!serde_json::to_string(&record).unwrap().contains(&"01".repeat(32)));
    let mut record = record;
    assert!(approve_with(&mut stage, &mut hold, "anna", &token, &mut record).is_ok());
    assert_eq!(record.used_at, Some(stage.now));
}

#[test]
fn four_eyes_keeps_the_owner_from_approving() {
    let options = SessionOptions {
        level: ControlLevel::Controlled,
        owner: Some(user("olga")),
        four_eyes: FourEyes::On,
        ..SessionOptions::default()
    };
    let mut stage = Stage::with(options).discover(vec![jellyfin()]);
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    assert!(approve(&mut stage, &mut hold, "olga", [1; 32]).is_err());
    assert!(approve(&mut stage, &mut hold, "anna", [2; 32]).is_ok());
}

#[test]
fn four_eyes_keeps_the_editor_of_a_plan_from_approving_it() {
    let options = SessionOptions {
        level: ControlLevel::Controlled,
        owner: Some(user("olga")),
        four_eyes: FourEyes::On,
        ..SessionOptions::default()
    };
    let mut stage = Stage::with(options).discover(vec![jellyfin(), homepage()]);
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    let mut edited = edit(&mut stage, &mut hold, restart("lxc:delly:141")).unwrap();
    for (by, random) in [("anna", [1; 32]), ("olga", [2; 32])] {
        assert!(approve(&mut stage, &mut edited, by, random).is_err(), "{by}");
    }
    assert!(approve(&mut stage, &mut edited, "boris", [3; 32]).is_ok());
}

#[test]
fn a_hold_expires() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    stage.wait(SignedDuration::from_mins(10));
    let refusal = approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Timeout);
    assert_eq!(hold.status, HoldStatus::Expired { at: stage.now });
    let _again = stage.held("infra_control", restart("lxc:delly:105"));
}

#[test]
fn a_denial_is_told_with_its_reason_and_asking_again_at_once_is_a_repetition() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    let told = stage
        .gate
        .deny(
            &mut stage.session,
            &mut hold,
            &user("anna"),
            "backup is running",
            stage.now,
        )
        .unwrap();
    assert_eq!(told.code, ErrorCode::ActionNotAllowed);
    assert_eq!(told.details["reason"], json!("backup is running"));
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:105")).rule,
        Rule::Repetition
    );
    assert!(
        stage
            .gate
            .deny(&mut stage.session, &mut hold, &user("anna"), "again", stage.now)
            .is_err()
    );
}

#[test]
fn an_edited_plan_passes_the_whole_gate_and_has_a_new_hash() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    let refusal = edit(&mut stage, &mut hold, restart("lxc:delly:999")).unwrap_err();
    assert_eq!(
        (refusal.rule, &hold.status),
        (Rule::StrictResolution, &HoldStatus::Pending)
    );
    let mut edited = edit(&mut stage, &mut hold, restart("lxc:delly:141")).unwrap();
    assert_ne!(edited.plan_hash, hold.plan_hash);
    assert_eq!(
        edited.edited_from,
        Some(EditedFrom {
            hold: hold.id.clone(),
            plan_hash: hold.plan_hash,
            by: user("anna")
        })
    );
    assert!(approve(&mut stage, &mut hold, "anna", [1; 32]).is_err());
    let permit = approve(&mut stage, &mut edited, "anna", [2; 32]).unwrap();
    assert_eq!(permit.plan().resource(), Some(&id("lxc:delly:141")));
}

#[test]
fn a_hold_survives_a_restart_and_its_resources_are_discovered_anew_first() {
    let mut before = stage();
    let hold = before.held("infra_control", restart("lxc:delly:105"));
    let stored = serde_json::to_string(&hold).unwrap();
    let mut stage = Stage::at_level(ControlLevel::Controlled);
    let mut hold: Hold = serde_json::from_str(&stored).unwrap();
    assert!(
        approve(&mut stage, &mut hold, "anna", [1; 32]).is_err(),
        "nothing was discovered yet"
    );
    let agent = stage.agent.clone();
    stage
        .gate
        .rediscover(&mut stage.session, &agent, vec![jellyfin()], stage.now);
    assert!(approve(&mut stage, &mut hold, "anna", [2; 32]).is_ok());
}

#[test]
fn a_stored_plan_that_was_changed_is_not_the_one_that_was_held() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    hold.plan
        .arguments
        .insert("target_resource_id".to_owned(), json!("node:delly"));
    let refusal = approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap_err();
    assert_eq!(
        (refusal.rule, refusal.code),
        (Rule::Hold, ErrorCode::PolicyBlocked)
    );
}

#[test]
fn an_approved_plan_whose_live_state_has_changed_is_refused_with_what_changed() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    stage.search(vec![ResolvedResource {
        state: Some("stopped".to_owned()),
        ..jellyfin()
    }]);
    let refusal = approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap_err();
    assert_eq!(refusal.rule, Rule::LiveState);
    assert_eq!(
        refusal.details["changes"],
        json!([{"field": "state", "was": "running", "now": "stopped"}])
    );
}

#[test]
fn an_approved_plan_does_not_run_on_another_machine() {
    let machine = |key: &str| {
        jellyfin().identified(
            Identity::default()
                .with(IdentityFact::Endpoint, "10.0.0.5:22")
                .with(IdentityFact::SshHostKey, key),
        )
    };
    let mut stage = stage();
    stage.search(vec![machine("SHA256:one")]);
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    let shown = hold.plan.target.as_ref().unwrap();
    assert_eq!(shown.identity, machine("SHA256:one").identity);
    stage.search(vec![machine("SHA256:two")]);
    let refusal = approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap_err();
    assert_eq!(refusal.rule, Rule::LiveState);
    assert_eq!(
        refusal.details["changes"],
        json!([{"field": "ssh_host_key", "was": "SHA256:one", "now": "SHA256:two"}])
    );
    // What is no longer known counts as changed, too.
    stage.search(vec![jellyfin()]);
    let refusal = approve(&mut stage, &mut hold, "anna", [2; 32]).unwrap_err();
    assert_eq!(refusal.rule, Rule::LiveState);
    stage.search(vec![machine("SHA256:one")]);
    assert!(approve(&mut stage, &mut hold, "anna", [3; 32]).is_ok());
}

#[test]
fn the_identity_is_part_of_the_hash_and_plans_without_one_keep_theirs() {
    let mut stage = stage();
    let hold = stage.held("infra_control", restart("lxc:delly:105"));
    let mut plan = hold.plan.clone();
    assert_eq!(plan.hash(), hold.plan_hash);
    plan.target
        .as_mut()
        .unwrap()
        .identity
        .insert(IdentityFact::MachineId, "m");
    assert_ne!(plan.hash(), hold.plan_hash);
    let old: crate::Plan = serde_json::from_value(serde_json::to_value(&hold.plan).unwrap()).unwrap();
    assert_eq!(old.hash(), hold.plan_hash);
}

#[test]
fn the_kill_switch_stops_an_approval_and_a_permit_that_waits() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    stage.world.kill_switch = KillSwitch::Engaged;
    assert_eq!(
        approve(&mut stage, &mut hold, "anna", [1; 32]).unwrap_err().rule,
        Rule::KillSwitch
    );
    stage.world.kill_switch = KillSwitch::Released;
    let permit = approve(&mut stage, &mut hold, "anna", [2; 32]).unwrap();
    let unused = permit.begin(KillSwitch::Engaged, stage.now).unwrap_err();
    assert_eq!(unused.refusal().rule, Rule::KillSwitch);
    stage
        .gate
        .not_started(&mut stage.world, &mut stage.session, *unused);
    assert_eq!(
        (stage.state(), stage.world.writers().count()),
        (State::Reading, 0)
    );
}

#[test]
fn a_permit_goes_stale() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.wait(SignedDuration::from_mins(2));
    let unused = permit.begin(KillSwitch::Released, stage.now).unwrap_err();
    assert_eq!(unused.refusal().rule, Rule::PermitExpiry);
}

#[test]
fn a_forced_conclusion_gives_up_an_open_hold_for_good() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Block(_)));
    let agent = stage.agent.clone();
    let answer = stage.gate.decide_final_answer(
        &mut stage.session,
        &agent,
        "Ending.",
        &[],
        &Question::default(),
        Conclusion::Forced,
        stage.now,
    );
    let AnswerDecision::Release(answer) = answer else {
        panic!("blocked")
    };
    assert_eq!(
        said(&answer.head),
        ["1 write was withdrawn before a person decided: restart on jellyfin (lxc:delly:105)"]
    );
    assert!(approve(&mut stage, &mut hold, "anna", [1; 32]).is_err());
}

/// What a head says about writes that did not run.
fn said(head: &interlock_protocol::Head) -> Vec<String> {
    head.not_run
        .iter()
        .map(interlock_protocol::WriteNotRun::text)
        .collect()
}

#[test]
fn a_head_says_which_writes_did_not_run_and_why() {
    type Case = (&'static str, fn(&mut Stage), &'static [&'static str]);
    let cases: &[Case] = &[
        ("nothing was proposed", |_| {}, &[]),
        (
            "a refused read is not a write",
            |stage| {
                stage.refused("infra_read", exec("lxc:delly:105", "rm -rf /srv"));
            },
            &[],
        ),
        (
            "a tool that there is not",
            |stage| {
                stage.refused("infra_made_up", restart("lxc:delly:105"));
            },
            &[],
        ),
        (
            "a person denied it",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                let now = stage.now;
                stage
                    .gate
                    .deny(&mut stage.session, &mut hold, &user("anna"), "not now", now)
                    .unwrap();
            },
            &["1 write was denied by anna: restart on jellyfin (lxc:delly:105)"],
        ),
        (
            "no person decided",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                stage.wait(SignedDuration::from_mins(11));
                assert!(stage.gate.expire(&mut stage.session, &mut hold, stage.now));
                // Telling the proposer adds nothing.
                stage.gate.expired(&mut stage.session, &hold);
            },
            &["1 write expired because no person decided in time: restart on jellyfin (lxc:delly:105)"],
        ),
        (
            "the gate refused it, twice",
            |stage| {
                stage.refused("infra_control", restart("lxc:delly:999"));
                let mut second = call("infra_control", restart("lxc:delly:998"));
                second.id = CallId::new("call_2").unwrap();
                let (agent, now) = (stage.agent.clone(), Situation::at(stage.now));
                let decision = stage
                    .gate
                    .decide(&mut stage.world, &mut stage.session, &agent, second, now);
                assert!(matches!(decision, Decision::Block(_)), "{decision:?}");
            },
            &["2 writes were refused (STRICT_RESOLUTION): infra_control"],
        ),
        (
            "approved, and then writes were stopped",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                stage.world.kill_switch = KillSwitch::Engaged;
                approve(stage, &mut hold, "anna", [1; 32]).unwrap_err();
            },
            &["1 write was refused (POLICY_BLOCKED): infra_control"],
        ),
        (
            "permitted, and writes were stopped before it began",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                let permit = approve(stage, &mut hold, "anna", [1; 32]).unwrap();
                let unused = permit.begin(KillSwitch::Engaged, stage.now).unwrap_err();
                stage
                    .gate
                    .not_started(&mut stage.world, &mut stage.session, *unused);
            },
            &["1 write was refused (POLICY_BLOCKED): infra_control"],
        ),
        (
            "refused at first, and permitted after all",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                stage.world.kill_switch = KillSwitch::Engaged;
                approve(stage, &mut hold, "anna", [1; 32]).unwrap_err();
                stage.world.kill_switch = KillSwitch::Released;
                let permit = approve(stage, &mut hold, "anna", [2; 32]).unwrap();
                stage.run(permit, Outcome::Succeeded);
            },
            &[],
        ),
        (
            "another plan took its place",
            |stage| {
                let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
                let mut arguments = restart("lxc:delly:105");
                arguments["action"] = json!("stop");
                edit(stage, &mut hold, arguments).unwrap();
            },
            &[],
        ),
    ];
    for (what, play, expected) in cases {
        let mut stage = stage();
        play(&mut stage);
        let head = stage.gate.head_so_far(&stage.session, &Question::default());
        assert_eq!(said(&head), *expected, "{what}");
    }
}

#[test]
fn closing_an_old_hold_does_not_make_a_later_run_of_the_same_call_look_failed() {
    let mut stage = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin()]);
    let mut old = stage.held("infra_control", restart("lxc:delly:105"));
    stage.wait(SignedDuration::from_mins(11));
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
    stage.run(permit, Outcome::Succeeded);
    stage.session.set_level(ControlLevel::Autonomous);
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    assert!(stage.gate.expire(&mut stage.session, &mut old, stage.now));
    stage.run(permit, Outcome::Succeeded);
    stage.wait(VERIFY_WITHIN);
    stage.nothing_observable(Moment::Deadline);
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:105")).rule,
        Rule::Repetition
    );
}

/// What an approver's process leaves in the store: the hold, and what is kept of the token.
fn accepted(stage: &Stage, hold: &Hold, by: &str) -> (Hold, TokenRecord) {
    let mut hold = hold.clone();
    let by = user(by);
    let (token, mut record) = hold.open_for(by.clone(), [7; 32], stage.now);
    let mut approval = Approval {
        by: &by,
        token: &token,
        record: &mut record,
    };
    stage.gate.accept(&mut hold, &mut approval, stage.now).unwrap();
    (hold, record)
}

fn redeem(stage: &mut Stage, hold: &Hold, record: &TokenRecord) -> Result<Permit, Box<Refusal>> {
    let situation = stage.situation();
    stage
        .gate
        .redeem(&mut stage.world, &mut stage.session, hold, record, situation)
}

#[test]
fn a_yes_that_was_given_elsewhere_is_redeemed_once() {
    let mut stage = stage();
    let open = stage.held("infra_control", restart("lxc:delly:105"));
    let (hold, record) = accepted(&stage, &open, "anna");
    let permit = redeem(&mut stage, &hold, &record).unwrap();
    assert_eq!(
        (permit.plan_hash(), permit.approved_by()),
        (open.plan_hash, Some(&user("anna")))
    );
    let again = redeem(&mut stage, &hold, &record).unwrap_err();
    assert_eq!(again.rule, Rule::Hold);
    stage.run(permit, Outcome::Succeeded);
}

#[test]
fn what_proves_no_yes_redeems_nothing() {
    let mut stage = stage();
    let open = stage.held("infra_control", restart("lxc:delly:105"));
    let (hold, record) = accepted(&stage, &open, "anna");
    let mut pending = hold.clone();
    pending.status = HoldStatus::Pending;
    let mut denied = hold.clone();
    denied.status = HoldStatus::Denied {
        by: user("anna"),
        at: stage.now,
        reason: "no".to_owned(),
    };
    let mut other_plan = hold.clone();
    other_plan
        .plan
        .arguments
        .insert("action".to_owned(), "stop".into());
    let unused = TokenRecord {
        used_at: None,
        ..record.clone()
    };
    let of_another = TokenRecord {
        approver: user("boris"),
        ..record.clone()
    };
    let for_another_plan = TokenRecord {
        plan_hash: interlock_protocol::ContentHash::of("another"),
        ..record.clone()
    };
    let cases = [
        ("pending", &pending, &record),
        ("denied", &denied, &record),
        ("another plan", &other_plan, &record),
        ("unused token", &hold, &unused),
        ("token of another", &hold, &of_another),
        ("token for another plan", &hold, &for_another_plan),
    ];
    for (what, hold, record) in cases {
        let refusal = redeem(&mut stage, hold, record).unwrap_err();
        assert_eq!(refusal.rule, Rule::Hold, "{what}");
    }
    assert!(redeem(&mut stage, &hold, &record).is_ok());
}

#[test]
fn a_yes_does_not_last_for_ever_and_meets_the_state_of_the_world() {
    let mut stage = stage();
    let open = stage.held("infra_control", restart("lxc:delly:105"));
    let (hold, record) = accepted(&stage, &open, "anna");
    let mut late = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin()]);
    late.now = stage.now + REDEEM_WITHIN + SignedDuration::from_secs(1);
    assert_eq!(
        redeem(&mut late, &hold, &record).unwrap_err().code,
        ErrorCode::Timeout
    );
    let mut changed = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin().in_state("paused")]);
    changed.now = stage.now;
    let refusal = redeem(&mut changed, &hold, &record).unwrap_err();
    assert!(
        matches!(refusal.rule, Rule::LiveState | Rule::Hold),
        "{refusal:?}"
    );
    stage.world.kill_switch = KillSwitch::Engaged;
    assert_eq!(
        redeem(&mut stage, &hold, &record).unwrap_err().rule,
        Rule::KillSwitch
    );
}

#[test]
fn a_no_that_was_given_elsewhere_is_told_with_its_reason() {
    let mut stage = stage();
    let mut hold = stage.held("infra_control", restart("lxc:delly:105"));
    stage
        .gate
        .reject(&mut hold, &user("anna"), "not now", stage.now)
        .unwrap();
    let twice = stage.gate.reject(&mut hold, &user("anna"), "really", stage.now);
    assert!(twice.is_err());
    let refusal = stage.gate.denied(&mut stage.session, &hold);
    assert_eq!(refusal.details.get("reason"), Some(&json!("not now")));
    assert!(approve(&mut stage, &mut hold, "anna", [1; 32]).is_err());
}
