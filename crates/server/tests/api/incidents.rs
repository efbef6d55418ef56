//! Incidents: alerts have a life, and people see it.

use interlock_protocol::SessionId;
use serde_json::{Value, json};

use crate::place::{Place, Wish, text};

/// What Alertmanager sends about one alert.
fn push(status: &str, fingerprint: &str, starts: &str) -> Value {
    json!({ "version": "4", "alerts": [{
        "status": status, "fingerprint": fingerprint, "startsAt": starts,
        "labels": { "alertname": "service_down", "instance": "web:9100", "severity": "critical" },
        "annotations": { "summary": "nginx does not answer" },
    }] })
}

const NOON: &str = "2026-01-01T12:00:00Z";

async fn events(place: &Place, incident: &str) -> Vec<(String, u64)> {
    let detail = place.get("vera", &format!("/incidents/{incident}")).await.ok(200);
    let mut events: Vec<(String, u64)> = detail["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (text(event, "kind").to_owned(), event["count"].as_u64().unwrap()))
        .collect();
    events.reverse();
    events
}

fn said(events: &[(&str, u64)]) -> Vec<(String, u64)> {
    events
        .iter()
        .map(|(kind, count)| ((*kind).to_owned(), *count))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_fires_repeats_and_resolves_as_one_incident() {
    let place = Place::new(Wish::default()).await;
    let send = |status: &'static str| {
        let place = &place;
        async move {
            place
                .post("olga", "/alerts/alertmanager", &push(status, "aa", NOON))
                .await
                .ok(202)
        }
    };
    let first = send("firing").await["accepted"][0].clone();
    let incident = text(&first, "incident").to_owned();
    for _ in 0..3 {
        let again = send("firing").await;
        assert_eq!(again["accepted"][0]["incident"], json!(incident));
        assert_eq!(again["accepted"][0]["status"], "duplicate");
    }
    let overview = place.get("vera", "/overview").await.ok(200);
    assert_eq!(
        overview["incidents"],
        json!({ "critical": 1, "warning": 0, "info": 0, "waiting": 0 })
    );
    let over = send("resolved").await;
    assert_eq!(over["accepted"][0]["status"], "resolved");
    assert_eq!(
        events(&place, &incident).await,
        said(&[
            ("opened", 1),
            ("session_started", 1),
            ("repeated", 3),
            ("alert_resolved", 1)
        ])
    );
    let detail = place.get("vera", &format!("/incidents/{incident}")).await.ok(200);
    assert_eq!(detail["title"], "service_down: nginx does not answer");
    assert_eq!(
        (&detail["status"], &detail["firing"]),
        (&json!("resolved"), &json!(false))
    );
    assert_eq!(detail["sessions"].as_array().unwrap().len(), 1);
    let overview = place.get("vera", "/overview").await.ok(200);
    assert_eq!(overview["incidents"]["critical"], 0);
    // It fires anew within the hour: the same incident, and a second session.
    let again = place
        .post(
            "olga",
            "/alerts/alertmanager",
            &push("firing", "aa", "2026-01-01T12:30:00Z"),
        )
        .await
        .ok(202);
    assert_eq!(again["accepted"][0]["incident"], json!(incident));
    assert_ne!(again["accepted"][0]["session"], first["session"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incident_is_linked_to_its_resource() {
    let place = Place::new(Wish::default()).await;
    let list = place
        .post("olga", "/alerts/alertmanager", &push("firing", "aa", NOON))
        .await
        .ok(202);
    let path = format!("/incidents/{}", text(&list["accepted"][0], "incident"));
    // The sender has its answer before the resource is looked for. This does the same once more, and ends.
    let about = text(&place.get("vera", &path).await.ok(200), "about").to_owned();
    let incident = text(&list["accepted"][0], "incident").parse().unwrap();
    place.engine.link_incidents(vec![(incident, about)]).await;
    let detail = place.get("vera", &path).await.ok(200);
    assert_eq!(detail["resource"], "host:web");
    let about = place.get("vera", "/incidents?resource=host:web").await.ok(200);
    assert_eq!(about["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_webhook_is_kept_whole_and_one_bad_alert_does_not_reject_its_neighbours() {
    let place = Place::new(Wish {
        max_pending: 2,
        ..Wish::default()
    })
    .await;
    let mut alerts: Vec<Value> = (0..400)
        .map(|number| {
            json!({
                "status": "firing", "fingerprint": format!("f{number}"), "startsAt": NOON,
                "labels": { "alertname": format!("rule{}", number % 4), "instance": "web" },
            })
        })
        .collect();
    alerts[7] = json!("not an alert");
    alerts[9] = json!({ "labels": { "alertname": 7 } });
    let list = place
        .post("olga", "/alerts/alertmanager", &json!({ "alerts": alerts }))
        .await
        .ok(202);
    let accepted = list["accepted"].as_array().unwrap();
    assert_eq!((accepted.len(), &list["rejected"]), (400, &json!(2)));
    assert_eq!(text(&accepted[7], "reason"), "an alert must be an object");
    let page = place
        .get("vera", "/incidents?status=unresolved&limit=1")
        .await
        .ok(200);
    assert_eq!(page["total"], 398);
    let rejected = place.get("vera", "/alerts/rejected").await.ok(200);
    assert_eq!(rejected["total"], 2);
    assert_eq!(rejected["alerts"][0]["source"], "alertmanager");
    // Two sessions have room, each for 50 incidents of its rule; the others wait.
    let overview = place.get("vera", "/overview").await.ok(200);
    assert_eq!(overview["incidents"]["waiting"], 298);
    let sessions = place.get("vera", "/sessions").await.ok(200);
    assert_eq!(sessions["total"], 2);
    let title = text(&sessions["sessions"][0], "title");
    assert!(title.ends_with("(and 49 more)"), "{title}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_acknowledge_resolve_and_reopen_and_only_those_who_may() {
    let place = Place::new(Wish::default()).await;
    let list = place
        .post("olga", "/alerts/alertmanager", &push("firing", "aa", NOON))
        .await
        .ok(202);
    let path = format!("/incidents/{}", text(&list["accepted"][0], "incident"));
    let why = json!({ "reason": "I am looking at it" });
    assert_eq!(
        place
            .post("vera", &format!("{path}/acknowledge"), &why)
            .await
            .problem()
            .0,
        403
    );
    let detail = place
        .post("olga", &format!("{path}/acknowledge"), &why)
        .await
        .ok(200);
    assert_eq!(detail["status"], "acknowledged");
    let event = &detail["events"][0];
    assert_eq!(
        (text(event, "by"), text(event, "text")),
        ("olga", "I am looking at it")
    );
    let twice = place
        .post("olga", &format!("{path}/acknowledge"), &json!({}))
        .await;
    assert_eq!(twice.problem(), (409, "CONFLICT".to_owned()));
    let detail = place
        .post("olga", &format!("{path}/resolve"), &json!({}))
        .await
        .ok(200);
    assert_eq!(
        (&detail["status"], &detail["firing"]),
        (&json!("resolved"), &json!(true))
    );
    let detail = place
        .post("olga", &format!("{path}/reopen"), &json!({}))
        .await
        .ok(200);
    assert_eq!(detail["status"], "open");
    assert_eq!(
        detail["sessions"].as_array().unwrap().len(),
        2,
        "a new session works on it"
    );
    let audit = place.get("root", "/audit?action=incident.").await.ok(200);
    let actions: Vec<&str> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| text(entry, "action"))
        .collect();
    assert_eq!(
        actions,
        [
            "incident.reopened",
            "incident.resolved",
            "incident.move_refused",
            "incident.acknowledged"
        ]
    );
    for (method, path) in [
        ("GET", "/incidents/inc_nosuch"),
        ("POST", "/incidents/inc_nosuch/resolve"),
    ] {
        let answer = match method {
            "GET" => place.get("vera", path).await,
            _ => place.post("olga", path, &json!({})).await,
        };
        assert_eq!(answer.problem(), (404, "NOT_FOUND".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolved_alert_withdraws_what_waits_if_it_is_configured() {
    for (configured, left) in [(false, 1), (true, 0)] {
        let place = Place::new(Wish::default()).await;
        let mut settings = (*place.engine.settings()).clone();
        settings.alerts.cancel_holds_on_resolve = configured;
        place.engine.reconfigure(settings).await.unwrap();
        let list = place
            .post("olga", "/alerts/alertmanager", &push("firing", "aa", NOON))
            .await
            .ok(202);
        let one = &list["accepted"][0];
        let session = SessionId::new(text(one, "session")).unwrap();
        place.work(&session).await;
        let incident = format!("/incidents/{}", text(one, "incident"));
        assert_eq!(
            place.get("vera", &incident).await.ok(200)["session"]["open_holds"],
            1
        );
        place
            .post("olga", "/alerts/alertmanager", &push("resolved", "aa", NOON))
            .await
            .ok(202);
        let detail = place.get("vera", &incident).await.ok(200);
        assert_eq!(detail["session"]["open_holds"], left, "{detail:#}");
        assert_eq!(
            text(&detail["events"][0], "kind") == "holds_withdrawn",
            configured,
            "{detail:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_alerts_are_masked_before_anything_is_kept() {
    let place = Place::new(Wish::default()).await;
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let alert = json!({ "alerts": [
        { "labels": { "alertname": "service_down", "note": secret }, "annotations": { "summary": format!("token={secret}") } },
        { "labels": { "alertname": secret, "bad": 1 } },
    ] });
    let list = place.post("olga", "/alerts/alertmanager", &alert).await.ok(202);
    let detail = place
        .get(
            "vera",
            &format!("/incidents/{}", text(&list["accepted"][0], "incident")),
        )
        .await;
    assert!(!detail.text.contains(secret), "{}", detail.text);
    let rejected = place.get("vera", "/alerts/rejected").await;
    assert!(
        rejected.text.contains("must be a text") && !rejected.text.contains(secret),
        "{}",
        rejected.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_other_forms_become_incidents_too() {
    let place = Place::new(Wish::default()).await;
    let event = json!({ "specversion": "1.0", "type": "disk_full", "source": "/s", "id": "1", "subject": "web",
        "data": { "severity": "info", "summary": "/srv is full" } });
    let list = place
        .post(
            "olga",
            "/alerts/cloudevents",
            &json!([event, { "specversion": "1.0" }]),
        )
        .await
        .ok(202);
    assert_eq!(
        (&list["accepted"][0]["status"], &list["rejected"]),
        (&json!("queued"), &json!(1))
    );
    let again = place.post("olga", "/alerts/cloudevents", &event).await.ok(202);
    assert_eq!(again["accepted"][0]["status"], "duplicate");
    assert_eq!(
        place
            .post("olga", "/alerts/cloudevents", &json!("x"))
            .await
            .problem()
            .0,
        400
    );

    assert_eq!(
        place
            .post("olga", "/alerts/mapped/zabbix", &json!({}))
            .await
            .problem()
            .0,
        404
    );
    let mut settings = (*place.engine.settings()).clone();
    let mapping = interlock_engine::AlertMapping {
        fingerprint: Some("/id".to_owned()),
        title: Some("/text".to_owned()),
        ..interlock_engine::AlertMapping::default()
    };
    settings.alerts.mappings.insert("zabbix".to_owned(), mapping);
    place.engine.reconfigure(settings).await.unwrap();
    let one = json!({ "id": 7, "text": "the disk is full" });
    let list = place.post("olga", "/alerts/mapped/zabbix", &one).await.ok(202);
    let incident = text(&list["accepted"][0], "incident").to_owned();
    let detail = place.get("vera", &format!("/incidents/{incident}")).await.ok(200);
    assert_eq!(
        (text(&detail, "title"), text(&detail, "source")),
        ("the disk is full", "zabbix")
    );
}
