//! Looking at what there is.

use interlock_store::SortBy;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::place::{Place, Wish, text};

#[tokio::test(flavor = "multi_thread")]
async fn health_says_no_more_than_whether_it_is_up() {
    let place = Place::new(Wish::default()).await;
    let version = env!("CARGO_PKG_VERSION");
    for path in ["/health", "/api/v1/health"] {
        let body = place.send(place.request(None, "GET", path)).await.ok(200);
        assert_eq!(body, json!({"status": "healthy", "version": version}));
    }
    // Nobody works yet.
    let ready = place.send(place.request(None, "GET", "/ready")).await;
    assert_eq!(ready.ok(503)["status"], "unhealthy");
    place
        .store
        .heartbeat(place.engine.worker(), Timestamp::now())
        .await
        .unwrap();
    let ready = place.send(place.request(None, "GET", "/ready")).await;
    assert_eq!(ready.ok(200)["status"], "healthy");
    let overview = place.get("vera", "/overview").await.ok(200);
    assert_eq!(overview["health"]["status"], "healthy", "{overview:#}");
    let checks: Vec<&str> = overview["health"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| text(check, "name"))
        .collect();
    assert_eq!(checks, ["store", "workers", "models", "connection:here"]);
    place.store.close().await;
    let down = place.send(place.request(None, "GET", "/health")).await;
    assert_eq!(down.ok(503)["status"], "unhealthy");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_sessions_follow_one_another() {
    let place = Place::new(Wish::default()).await;
    for at in 0..5 {
        place.alert(&format!("alert {at}")).await;
    }
    assert_eq!(SortBy::default(), SortBy::CreatedAt);
    let mut titles = Vec::new();
    for page in 1..=3 {
        let body = place
            .get("vera", &format!("/sessions?page={page}&page_size=2&order=asc"))
            .await
            .ok(200);
        assert_eq!(
            (&body["total"], &body["page"], &body["page_size"]),
            (&json!(5), &json!(page), &json!(2))
        );
        let sessions = body["sessions"].as_array().unwrap();
        titles.extend(sessions.iter().map(|session| text(session, "title").to_owned()));
    }
    assert_eq!(titles, ["alert 0", "alert 1", "alert 2", "alert 3", "alert 4"]);
    let filters = place.get("vera", "/sessions/filters").await.ok(200);
    assert_eq!(
        (&filters["alert_types"], &filters["owners"]),
        (&json!(["service_down"]), &json!(["olga"]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_is_gone_until_it_is_restored() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let path = format!("/sessions/{session}");
    let approval = format!("/approvals/{}", text(&hold, "id"));
    let delete = || place.request(Some("olga"), "DELETE", &format!("/api/v1{path}"));
    let open = place.send(delete()).await;
    assert_eq!(open.problem(), (409, "CONFLICT".to_owned()));
    let many = json!({"sessions": [session, "nosuch"], "action": "cancel"});
    let results = place.post("olga", "/sessions/bulk", &many).await.ok(200);
    assert_eq!(results["results"][0]["error"], json!(null));
    assert_eq!(
        text(&results["results"][1], "error"),
        "there is no session `nosuch`"
    );
    // Nobody works here by itself: what is left is wound up.
    if place.get("vera", &path).await.ok(200)["status"] != "cancelled" {
        place.work(&session).await;
    }
    assert_eq!(place.send(delete()).await.status, 204);
    assert_eq!(
        place.get("vera", &path).await.problem(),
        (404, "NOT_FOUND".to_owned())
    );
    assert_eq!(place.get("vera", "/sessions").await.ok(200)["total"], 0);
    // Whoever may restore it sees it, and that it was deleted.
    let seen = place.get("olga", &path).await.ok(200);
    assert!(seen["deleted_at"].is_string(), "{seen:#}");
    assert_eq!(seen["can_ask"], false);
    assert_eq!(place.get("olga", &format!("{path}/events")).await.status, 404);
    for rest in ["/timeline", "/evidence"] {
        let path = format!("{path}{rest}");
        place.get("olga", &path).await.ok(200);
        assert_eq!(place.get("vera", &path).await.status, 404, "{rest}");
        // An admin whose token only reads.
        assert_eq!(place.get("reader", &path).await.status, 404, "{rest}");
    }
    // So is what waited in it, and what happened.
    let gone = (404, "NOT_FOUND".to_owned());
    assert_eq!(place.get("vera", &approval).await.problem(), gone);
    let opened = place.post("ada", &format!("{approval}/open"), &json!({})).await;
    assert_eq!(opened.problem(), gone);
    assert_eq!(place.get("vera", &format!("{path}/stream")).await.problem(), gone);
    let restore = place.post("olga", &format!("{path}/restore"), &json!({})).await;
    assert_eq!(restore.status, 204);
    assert_eq!(place.get("vera", &path).await.ok(200)["deleted_at"], json!(null));
    assert_eq!(place.get("vera", "/sessions").await.ok(200)["total"], 1);
    place.get("vera", &approval).await.ok(200);
    let audit = place.get("root", "/audit?action=session.").await.ok(200);
    let actions: Vec<&str> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| text(entry, "action"))
        .filter(|action| *action != "session.cancelled")
        .collect();
    assert_eq!(actions, ["session.restored", "session.deleted"]);
}

/// Every list in which a session that ran leaves something: how much, and what it is called there.
async fn traces_of(place: &Place, session: &interlock_protocol::SessionId) -> Vec<(String, usize)> {
    let lists = [
        ("/decisions".to_owned(), "decisions"),
        (format!("/decisions?session={session}"), "decisions"),
        ("/decisions?answer=held".to_owned(), "decisions"),
        ("/resources/host:web/history".to_owned(), "calls"),
        ("/approvals?status=decided".to_owned(), "approvals"),
        ("/approvals?status=all".to_owned(), "approvals"),
        (
            format!("/approvals?status=decided&session={session}"),
            "approvals",
        ),
        ("/sessions".to_owned(), "sessions"),
    ];
    let mut found = Vec::new();
    for (path, name) in lists {
        let list = place.get("vera", &path).await.ok(200);
        found.push((path, list[name].as_array().unwrap().len()));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_session_has_left_nothing_but_what_people_did() {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    let token = place.open("ada", &hold).await;
    place.approve("ada", &hold, &token).await.ok(200);
    place.work(&session).await;
    let before = traces_of(&place, &session).await;
    assert!(before.iter().all(|(_, count)| *count > 0), "{before:?}");
    let audit = place.get("root", "/audit").await.ok(200);
    let delete = place.request(Some("olga"), "DELETE", &format!("/api/v1/sessions/{session}"));
    assert_eq!(place.send(delete).await.status, 204);
    let after = traces_of(&place, &session).await;
    assert!(after.iter().all(|(_, count)| *count == 0), "{after:?}");
    let id = text(&hold, "id");
    let yes = json!({"token": token, "plan_hash": hold["plan_hash"]});
    for (verb, body) in [
        ("open", json!({})),
        ("approve", yes),
        ("deny", json!({"reason": "no"})),
        ("edit", json!({"arguments": {}, "plan_hash": hold["plan_hash"]})),
    ] {
        let answer = place.post("ada", &format!("/approvals/{id}/{verb}"), &body).await;
        assert_eq!(answer.problem(), (404, "NOT_FOUND".to_owned()), "{verb}");
    }
    let whole = place.get("root", "/audit").await.ok(200)["entries"].clone();
    let whole = whole.as_array().unwrap();
    assert_eq!(text(&whole[0], "action"), "session.deleted");
    assert_eq!(json!(whole[1..]), audit["entries"], "what people did stays");
    place
        .post("olga", &format!("/sessions/{session}/restore"), &json!({}))
        .await;
    assert_eq!(traces_of(&place, &session).await, before);
}

/// A hold that nobody decided when its session was stopped.
#[tokio::test(flavor = "multi_thread")]
async fn what_waited_in_a_deleted_session_waits_no_more() {
    let place = Place::new(Wish::default()).await;
    let (session, _) = place.held("ada").await;
    place
        .store
        .request_cancel(&session, None, jiff::Timestamp::now())
        .await
        .unwrap();
    let open = |place: &Place| {
        let store = place.store.clone();
        async move { store.holds(interlock_store::Holds::Open).await.unwrap().len() }
    };
    if place.get("vera", &format!("/sessions/{session}")).await.ok(200)["status"] != "cancelled" {
        place.work(&session).await;
    }
    let left = open(&place).await;
    place
        .store
        .soft_delete(&session, jiff::Timestamp::now())
        .await
        .unwrap();
    let list = place.get("ada", "/approvals?status=all").await.ok(200);
    assert_eq!(list["approvals"], json!([]), "{left} were left open");
    assert_eq!(place.get("ada", "/overview").await.ok(200)["open_holds"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_about_a_session_can_be_looked_at() {
    let place = Place::new(Wish::default()).await;
    let (session, _) = place.held("ada").await;
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    let detail = place.get("vera", &path("")).await.ok(200);
    assert_eq!(
        (
            text(&detail, "status"),
            &detail["open_holds"],
            &detail["refusals"]
        ),
        ("held", &json!(1), &json!(0))
    );
    assert_eq!(detail["stages"][0]["executions"][0]["agent"], "operator");
    let timeline = place.get("vera", &path("/timeline")).await.ok(200);
    assert_eq!(timeline["sequence"], detail["last_sequence"]);
    let kinds: Vec<&str> = timeline["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| text(entry, "kind"))
        .collect();
    assert!(
        kinds.contains(&"llm_tool_call") && kinds.contains(&"llm_response"),
        "{kinds:?}"
    );

    // Pages of events meet without a gap.
    let (mut after, mut events) = (0, Vec::new());
    loop {
        let page = place
            .get("vera", &path(&format!("/events?after={after}&limit=3")))
            .await
            .ok(200);
        events.extend(page["events"].as_array().unwrap().clone());
        after = events.last().unwrap()["sequence"].as_u64().unwrap();
        if page["more"] == false {
            break;
        }
    }
    let places: Vec<u64> = events
        .iter()
        .map(|event| event["sequence"].as_u64().unwrap())
        .collect();
    let all: Vec<u64> = (1..=detail["last_sequence"].as_u64().unwrap()).collect();
    assert_eq!(places, all);

    let list = place.get("vera", &path("/evidence")).await.ok(200);
    let one = &list["evidence"][0];
    let found = place
        .get("vera", &path(&format!("/evidence/{}", text(one, "id"))))
        .await
        .ok(200);
    assert_eq!(&found, one);
    assert_eq!(text(one, "command"), "systemctl status nginx");
    let gone = place.get("vera", &path("/evidence/evd_1")).await;
    assert_eq!(gone.problem(), (404, "NOT_FOUND".to_owned()));

    let decisions = place
        .get("vera", &format!("/decisions?session={session}&limit=1"))
        .await
        .ok(200);
    assert_eq!(text(&decisions["decisions"][0], "answer"), "held");
    let next = decisions["next"].as_u64().unwrap();
    let more = place
        .get("vera", &format!("/decisions?session={session}&before={next}"))
        .await
        .ok(200);
    assert_eq!(text(&more["decisions"][0], "answer"), "allowed");

    let document = place.get("vera", &path("/markdown")).await;
    assert_eq!(document.kind, "text/markdown; charset=utf-8");
    for part in [
        "# nginx does not answer",
        "## What was done and read",
        "No action was taken.",
        "## Input",
        "## Timeline",
        "## Evidence",
    ] {
        assert!(document.text.contains(part), "{part}: {}", document.text);
    }
    // What code says comes first.
    let place_of = |part: &str| document.text.find(part);
    assert!(place_of("## What was done and read") < place_of("## Input"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_site_can_be_looked_at() {
    let place = Place::new(Wish::default()).await;
    let (_, _) = place.held("ada").await;
    let tools = place.get("vera", "/tools").await.ok(200);
    let tool = |name: &str| -> Value {
        let tools = tools["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap().clone()
    };
    let control = tool("infra_control");
    assert_eq!(
        (&control["kind"], &control["available"]),
        (&json!("write"), &json!(true))
    );
    assert!(
        control["actions"]
            .as_array()
            .unwrap()
            .contains(&json!({"name": "service_restart", "kind": "write"}))
    );
    assert_eq!(tool("infra_read")["calls"], 1);
    assert_eq!(tool("infra_docker")["available"], false);
    let models = place.get("vera", "/models").await.ok(200);
    let model = &models["models"][0];
    assert_eq!(
        (text(model, "name"), &model["default"], &model["calls"]),
        ("script", &json!(true), &json!(3))
    );
    assert!(model["last_success_at"].is_string(), "{model:#}");
    assert_eq!(model["last_failure"], json!(null));
    let usage = place.get("vera", "/usage?group_by=alert_type").await.ok(200);
    assert_eq!(text(&usage["rows"][0], "group"), "service_down");
    let connections = place.get("vera", "/connections").await.ok(200);
    assert_eq!(connections["connections"][0]["name"], "here");
    let resources = place
        .get("vera", "/resources?search=WWW&refresh=true")
        .await
        .ok(200);
    assert_eq!(resources["resources"][0]["id"], "host:web");
    assert_eq!(
        place.get("vera", "/resources/host:web").await.ok(200)["name"],
        "web"
    );
    let topology = place.get("vera", "/topology").await.ok(200);
    assert_eq!(
        (&topology["nodes"][0]["id"], &topology["edges"]),
        (&json!("host:web"), &json!([]))
    );
    let metrics = place
        .get("vera", "/resources/host:web/metrics?hours=1")
        .await
        .ok(200);
    assert_eq!(metrics["series"], json!([]));
    assert!(text(&metrics, "note").contains("host:web"), "{metrics:#}");
    let config = place.get("root", "/config").await.ok(200);
    assert!(config["config"]["server"].is_object(), "{config:#}");
    let description = place
        .send(place.request(None, "GET", "/api/v1/openapi.json"))
        .await
        .ok(200);
    assert_eq!(
        description,
        serde_json::to_value(interlock_server::openapi()).unwrap()
    );
}
