//! What waits for a human: from the alert to what was verified, and every way in which it must not go.

use std::sync::Arc;

use interlock_gate::{FourEyes, Options as GateOptions};
use interlock_protocol::Status;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::place::{Place, Wish, text};

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_held_approved_run_and_verified() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let path = format!("/approvals/{}", text(&hold, "id"));
    assert_eq!(place.get("vera", &path).await.ok(200)["may_approve"], false);
    assert_eq!(hold["may_approve"], true);
    assert_eq!(text(&hold, "status"), "pending");
    assert_eq!(text(&hold, "why"), "nginx hangs, so I want to restart it.");
    assert_eq!(text(&hold, "blast_radius"), "1 service on 1 host; reversible");
    assert_eq!(
        text(&hold["plan"], "expectation"),
        "unit nginx must have started again"
    );
    assert_eq!(text(&hold["plan"], "resource"), "host:web");
    let steps: Vec<(&str, &str)> = hold["plan"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (text(step, "label"), text(step, "value")))
        .collect();
    assert_eq!(steps[0], ("tool", "infra_control service_restart"));
    assert!(steps.contains(&("argument unit", "nginx")), "{steps:?}");
    let excerpt = text(&hold["evidence"][0], "excerpt").to_owned();
    assert!(excerpt.contains("nginx is active"), "{excerpt}");
    assert_eq!(place.machine.changes(), 0);

    let token = place.open("ada", &hold).await;
    let approved = place.approve("ada", &hold, &token).await.ok(200);
    assert_eq!(
        (text(&approved, "status"), text(&approved, "decided_by")),
        ("approved", "ada")
    );
    assert_eq!(place.work(&session).await.status, Status::Completed);
    assert_eq!(place.machine.changes(), 1);

    let detail = place.get("vera", &format!("/sessions/{session}")).await.ok(200);
    assert_eq!(text(&detail, "status"), "completed");
    let actions = detail["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 1, "{detail:#}");
    let facts = [
        "tool",
        "action",
        "resource",
        "outcome",
        "verification",
        "approved_by",
        "hold",
    ];
    let facts: Vec<&Value> = facts.iter().map(|name| &actions[0][*name]).collect();
    assert_eq!(
        json!(facts),
        json!([
            "infra_control",
            "service_restart",
            "host:web",
            "succeeded",
            "verified",
            "ada",
            hold["id"]
        ])
    );
    let action = &detail["head"]["actions"][0];
    assert_eq!(
        json!([
            action["what"],
            action["resource"],
            action["outcome"],
            action["verification"],
            action["approved_by"]
        ]),
        json!(["service_restart", "host:web", "succeeded", "verified", "ada"])
    );
    let answer = text(&detail, "full_answer");
    let units: Vec<u16> = answer.encode_utf16().collect();
    for ground in detail["grounds"].as_array().unwrap() {
        let at = |name: &str| usize::try_from(ground[name].as_u64().unwrap()).unwrap();
        let part = String::from_utf16(&units[at("start")..at("end")]).unwrap();
        assert_eq!(part, text(ground, "text"));
    }
    let after = place.get("vera", &path).await.ok(200);
    assert_eq!(after["action"]["verification"], "verified");
    let history = place.get("vera", "/resources/host:web/history").await.ok(200);
    assert!(
        history["calls"]
            .as_array()
            .unwrap()
            .iter()
            .any(|call| call["verification"] == "verified")
    );

    // What was asked of the gate gives the same answers again.
    let trace = place
        .get("vera", &format!("/sessions/{session}/trace?replay=true"))
        .await
        .ok(200);
    assert_eq!(
        (&trace["replayed"], &trace["differences"]),
        (&json!(true), &json!([]))
    );
    assert!(trace["decisions"].as_u64().unwrap() > 3);

    // The secret is nowhere but in the one answer that it came in.
    let audit = place.get("root", "/audit").await.ok(200);
    assert!(audit.to_string().contains("hold.approved"), "{audit:#}");
    let places = [
        place.get("root", "/audit").await.text,
        place.get("vera", &format!("/sessions/{session}")).await.text,
        place
            .get("vera", &format!("/sessions/{session}/timeline"))
            .await
            .text,
        place
            .get("vera", &format!("/sessions/{session}/events?limit=1000"))
            .await
            .text,
        place
            .get("vera", &format!("/sessions/{session}/trace?replay=true"))
            .await
            .text,
        place
            .get("vera", &format!("/sessions/{session}/markdown"))
            .await
            .text,
        place.get("vera", &path).await.text,
        place.get("vera", "/approvals?status=all").await.text,
    ];
    for place in places {
        assert!(!place.contains(&token));
    }
    assert_eq!(place.get("root", "/audit/verify").await.ok(200)["intact"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_reaches_the_model_and_nothing_runs() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let path = format!("/approvals/{}/deny", text(&hold, "id"));
    let denied = place
        .post("ada", &path, &json!({"reason": "not now"}))
        .await
        .ok(200);
    assert_eq!(
        (
            text(&denied, "status"),
            text(&denied, "reason"),
            text(&denied, "decided_by")
        ),
        ("denied", "not now", "ada")
    );
    let again = place.post("otto", &path, &json!({"reason": "no"})).await;
    assert_eq!(again.problem(), (409, "CONFLICT".to_owned()));
    place.work(&session).await;
    assert_eq!(place.machine.changes(), 0);
    let trace = place
        .get("vera", &format!("/sessions/{session}/trace"))
        .await
        .ok(200);
    assert!(trace["interactions"].to_string().contains("not now"));
    assert_eq!(trace["replayed"], json!(null));
    let decided = place.get("vera", "/approvals?status=decided").await.ok(200);
    assert_eq!(decided["approvals"][0]["id"], hold["id"]);
    assert_eq!(
        place.get("vera", "/approvals").await.ok(200)["approvals"],
        json!([])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_plan_is_another_hold() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let path = format!("/approvals/{}/edit", text(&hold, "id"));
    let arguments = |unit: &str, target: &str| json!({"action": "service_restart", "target_resource_id": target, "unit": unit});
    let other = json!({"arguments": arguments("nginx", "host:web"), "plan_hash": "0".repeat(64)});
    assert_eq!(
        place.post("ada", &path, &other).await.problem(),
        (409, "CONFLICT".to_owned())
    );
    // The whole gate is asked: what was never discovered cannot be written into a plan.
    let nowhere = json!({"arguments": arguments("nginx", "host:nosuch"), "plan_hash": hold["plan_hash"]});
    let answer = place.post("ada", &path, &nowhere).await;
    assert_eq!(
        answer.problem(),
        (403, "ACTION_NOT_ALLOWED".to_owned()),
        "{answer:?}"
    );
    assert!(answer.json()["details"]["rule"].is_string(), "{answer:?}");
    let old = format!("/approvals/{}", text(&hold, "id"));
    assert_eq!(text(&place.get("vera", &old).await.ok(200), "status"), "pending");

    let edit = json!({"arguments": arguments("nginx.service", "host:web"), "plan_hash": hold["plan_hash"]});
    let new = place.post("ada", &path, &edit).await.ok(200);
    assert_ne!((&new["id"], &new["plan_hash"]), (&hold["id"], &hold["plan_hash"]));
    assert_eq!(
        new["edited_from"]["changes"],
        json!([{"field": "unit", "before": "nginx", "after": "nginx.service"}])
    );
    assert_eq!(new["edited_from"]["by"], "ada");
    let before = place.get("vera", &old).await.ok(200);
    assert_eq!(
        (&before["status"], &before["edited_into"]),
        (&json!("edited"), &new["id"])
    );
    assert_eq!(
        place.post("ada", &path, &edit).await.problem(),
        (409, "CONFLICT".to_owned())
    );
    let token = place.open("ada", &new).await;
    place.approve("ada", &new, &token).await.ok(200);
    place.work(&session).await;
    assert_eq!(place.machine.changes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_approve_at_once_one_wins() {
    const TIMES: usize = 16;
    let place = Arc::new(Place::new(Wish::default()).await);
    let (session, hold) = place.held("ada").await;
    let secrets = [
        ("ada", place.open("ada", &hold).await),
        ("otto", place.open("otto", &hold).await),
    ];
    let start = Arc::new(tokio::sync::Barrier::new(TIMES));
    let mut tasks = Vec::new();
    for at in 0..TIMES {
        let (who, token) = secrets[at % 2].clone();
        let (place, hold, start) = (Arc::clone(&place), hold.clone(), Arc::clone(&start));
        tasks.push(tokio::spawn(async move {
            start.wait().await;
            place.approve(who, &hold, &token).await
        }));
    }
    let mut won = 0;
    for task in tasks {
        let answer = task.await.unwrap();
        match answer.status {
            200 => won += 1,
            _ => assert_eq!(answer.problem(), (409, "CONFLICT".to_owned())),
        }
    }
    assert_eq!(won, 1);
    place.work(&session).await;
    assert_eq!(place.machine.changes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_needs_its_own_secret_and_the_plan_that_was_shown() {
    let place = Place::new(Wish::default()).await;
    let (_, hold) = place.held("ada").await;
    let token = place.open("ada", &hold).await;
    let nobodys = "0".repeat(64);
    let mut other = hold.clone();
    other["plan_hash"] = json!("0".repeat(64));
    let cases = [
        ("otto", &hold, token.as_str(), (403, "ACTION_NOT_ALLOWED")),
        ("ada", &hold, nobodys.as_str(), (403, "ACTION_NOT_ALLOWED")),
        ("ada", &other, token.as_str(), (409, "CONFLICT")),
    ];
    for (who, hold, token, (status, code)) in cases {
        let answer = place.approve(who, hold, token).await;
        assert_eq!(answer.problem(), (status, code.to_owned()), "{who}");
        assert!(!answer.text.contains(token), "a secret comes back to nobody");
    }
    // A newer secret takes the place of the older one.
    let newer = place.open("ada", &hold).await;
    assert_eq!(place.approve("ada", &hold, &token).await.status, 403);
    place.approve("ada", &hold, &newer).await.ok(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_decided_in_time_cannot_be_decided() {
    let place = Place::new(Wish {
        gate: GateOptions {
            hold_ttl: SignedDuration::ZERO,
            ..GateOptions::default()
        },
        ..Wish::default()
    })
    .await;
    let session = place.alert("nginx does not answer").await;
    place.work(&session).await;
    assert_eq!(
        place.get("ada", "/approvals").await.ok(200)["approvals"],
        json!([])
    );
    let list = place
        .get("ada", &format!("/approvals?status=all&session={session}"))
        .await
        .ok(200);
    let hold = &list["approvals"][0];
    assert_eq!(
        (text(hold, "status"), &hold["may_approve"]),
        ("expired", &json!(false))
    );
    let id = text(hold, "id");
    let yes = json!({"token": "0".repeat(64), "plan_hash": hold["plan_hash"]});
    for (verb, body) in [
        ("open", json!({})),
        ("approve", yes),
        ("deny", json!({"reason": "no"})),
        ("edit", json!({"arguments": {}, "plan_hash": hold["plan_hash"]})),
    ] {
        let answer = place.post("ada", &format!("/approvals/{id}/{verb}"), &body).await;
        assert_eq!(
            answer.problem(),
            (409, "CONFLICT".to_owned()),
            "{verb}: {answer:?}"
        );
    }
    assert_eq!(place.machine.changes(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn four_eyes_are_two_people() {
    let place = Place::new(Wish {
        four_eyes: FourEyes::On,
        ..Wish::default()
    })
    .await;
    let body = json!({"alert_type": "service_down", "data": "nginx does not answer"});
    let accepted = place.post("ada", "/alerts", &body).await.ok(202);
    let session = interlock_protocol::SessionId::new(text(&accepted, "session")).unwrap();
    place.work(&session).await;
    let hold = place.get("ada", "/approvals").await.ok(200)["approvals"][0].clone();
    assert_eq!(
        (&hold["four_eyes"], &hold["may_approve"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        text(&hold, "may_not_because"),
        "The owner of a session may not approve it."
    );
    let open = format!("/approvals/{}/open", text(&hold, "id"));
    let answer = place.post("ada", &open, &json!({})).await;
    assert_eq!(answer.problem(), (403, "ACTION_NOT_ALLOWED".to_owned()));
    // Whoever changes the plan is not the second pair of eyes either.
    let edit = json!({
        "arguments": {"action": "service_restart", "target_resource_id": "host:web", "unit": "nginx.service"},
        "plan_hash": hold["plan_hash"],
    });
    let path = format!("/approvals/{}/edit", text(&hold, "id"));
    let new = place.post("otto", &path, &edit).await.ok(200);
    assert_eq!(
        text(&new, "may_not_because"),
        "The person who edited a plan may not approve it."
    );
    let open = format!("/approvals/{}/open", text(&new, "id"));
    assert_eq!(place.post("otto", &open, &json!({})).await.status, 403);
    let token = place.open("root", &new).await;
    place.approve("root", &new, &token).await.ok(200);
}

/// Somebody else asked the question from which it came.
const ASKED_LATER: &str = r#"
replies:
  - text: "What shall I do?"
  - calls: [{tool: infra_query, arguments: {action: search, query: web}}]
  - calls: [{tool: infra_control, arguments: {action: service_restart, target_resource_id: "host:web", unit: nginx}}]
  - text: "See what was done."
"#;

/// Whether somebody is shown that they may approve is whether they may.
async fn shown_as_it_is(place: &Place, hold: &Value, who: &str, barred: Option<&str>) {
    let path = format!("/approvals/{}", text(hold, "id"));
    let listed = place.get(who, "/approvals").await.ok(200);
    let listed = listed["approvals"].as_array().unwrap();
    let listed = listed.iter().find(|one| one["id"] == hold["id"]).unwrap().clone();
    let shown = place.get(who, &path).await.ok(200);
    let opened = place.post(who, &format!("{path}/open"), &json!({})).await;
    for form in [&listed, &shown] {
        assert_eq!(form["may_approve"], barred.is_none(), "{who}: {form:#}");
        assert_eq!(form["may_not_because"], json!(barred), "{who}");
    }
    match barred {
        None => assert_eq!(opened.status, 200, "{who}: {opened:?}"),
        Some(why) => {
            assert_eq!(opened.problem(), (403, "ACTION_NOT_ALLOWED".to_owned()), "{who}");
            assert_eq!(text(&opened.json(), "detail"), why, "{who}");
            let yes = json!({"token": "0".repeat(64), "plan_hash": hold["plan_hash"]});
            let approved = place.post(who, &format!("{path}/approve"), &yes).await;
            assert_eq!(text(&approved.json(), "detail"), why, "{who}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_shown_a_button_that_refuses_them() {
    let place = Place::new(Wish {
        script: ASKED_LATER.to_owned(),
        four_eyes: FourEyes::On,
        ..Wish::default()
    })
    .await;
    let asked = place.post("ada", "/chats", &json!({"message": "hello"})).await;
    let session = interlock_protocol::SessionId::new(text(&asked.ok(202), "session")).unwrap();
    place.work(&session).await;
    let path = format!("/sessions/{session}/messages");
    let again = json!({"message": "restart nginx"});
    place.post("otto", &path, &again).await.ok(202);
    place.work(&session).await;
    let hold = place.get("root", "/approvals").await.ok(200)["approvals"][0].clone();
    let owner = "The owner of a session may not approve it.";
    let by_asking = "The person who asked in a session may not approve what comes of it.";
    let editor = "The person who edited a plan may not approve it.";
    for (who, barred) in [("ada", Some(owner)), ("otto", Some(by_asking)), ("root", None)] {
        shown_as_it_is(&place, &hold, who, barred).await;
    }
    let arguments =
        |unit: &str| json!({"action": "service_restart", "target_resource_id": "host:web", "unit": unit});
    let mut last = hold;
    for (who, unit) in [("root", "nginx.service"), ("otto", "nginx")] {
        let path = format!("/approvals/{}/edit", text(&last, "id"));
        let body = json!({"arguments": arguments(unit), "plan_hash": last["plan_hash"]});
        last = place.post(who, &path, &body).await.ok(200);
    }
    // Also who edited it before the last one did.
    for (who, barred) in [("ada", owner), ("otto", editor), ("root", editor)] {
        shown_as_it_is(&place, &last, who, Some(barred)).await;
    }
    let path = format!(
        "/audit?action=hold.approval_refused&subject={}",
        text(&last, "id")
    );
    let audit = place.get("root", &path).await.ok(200);
    let entries: Vec<(&str, &str)> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (text(entry, "actor"), text(&entry["details"], "barred_as")))
        .collect();
    assert_eq!(
        entries,
        // Opening and approving are refused by one function, under one word.
        [
            ("root", "editor"),
            ("root", "editor"),
            ("otto", "editor"),
            ("otto", "editor"),
            ("ada", "owner"),
            ("ada", "owner")
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_not_let_go_by_whoever_did_not_see_that_they_were_stopped_again() {
    let place = Place::new(Wish::default()).await;
    let stopped = place
        .post("olga", "/writes/stop", &json!({"reason": "fire"}))
        .await;
    let seen = stopped.ok(200)["revision"].clone();
    let overview = place.get("root", "/overview").await.ok(200);
    assert_eq!(overview["writes"]["revision"], seen);
    place
        .post("ada", "/writes/stop", &json!({"reason": "flood"}))
        .await
        .ok(200);
    let resume = |seen: &Value| json!({"revision": seen});
    let answer = place.post("root", "/writes/resume", &resume(&seen)).await;
    assert_eq!(answer.problem(), (409, "CONFLICT".to_owned()));
    let details = answer.json()["details"].clone();
    assert_eq!(
        (&details["by"], &details["reason"]),
        (&json!("ada"), &json!("flood"))
    );
    let overview = place.get("root", "/overview").await.ok(200);
    assert_eq!(
        (&overview["writes"]["stopped"], &overview["writes"]["by"]),
        (&json!(true), &json!("ada"))
    );
    let wrong = place
        .post("root", "/writes/resume", &json!({"revision": -1}))
        .await;
    assert_eq!(wrong.problem(), (400, "INVALID_INPUT".to_owned()));
    let going = place
        .post("root", "/writes/resume", &resume(&details["revision"]))
        .await;
    assert_eq!(going.ok(200)["stopped"], false);
    // Whoever sends nothing means it whatever they saw.
    place.post("olga", "/writes/stop", &json!({})).await.ok(200);
    let bare = place.request(Some("root"), "POST", "/api/v1/writes/resume");
    assert_eq!(place.send(bare).await.ok(200)["stopped"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_writes_do_not_begin() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let stopped = place
        .post("olga", "/writes/stop", &json!({"reason": "fire"}))
        .await
        .ok(200);
    assert_eq!(
        (&stopped["stopped"], &stopped["by"], &stopped["reason"]),
        (&json!(true), &json!("olga"), &json!("fire"))
    );
    let overview = place.get("vera", "/overview").await.ok(200);
    assert_eq!(
        (&overview["writes"]["stopped"], &overview["open_holds"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(place.post("ada", "/writes/resume", &json!({})).await.status, 403);
    let token = place.open("ada", &hold).await;
    place.approve("ada", &hold, &token).await.ok(200);
    place.work(&session).await;
    assert_eq!(place.machine.changes(), 0);
    assert_eq!(
        place.post("root", "/writes/resume", &json!({})).await.ok(200)["stopped"],
        false
    );
}
