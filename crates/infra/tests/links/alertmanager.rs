//! Alertmanager: alerts are resources; putting one aside and saying that it is over is about that very alert.

use std::time::Duration;

use interlock_infra::alertmanager::{Alertmanager, SilenceId};
use interlock_infra::{Error, Secrets, Source as _};
use interlock_protocol::{AlertState, ResourceId};
use serde_json::{Value, json};

use crate::prometheus::connection;
use crate::server::{Asked, Reply, Server, cut, ok, said, serve};
use crate::stage::{reading, started};

const ALERTS: &str = r#"[
 {"annotations":{"summary":"nginx is down"},"endsAt":"2026-11-15T09:05:00.000Z","fingerprint":"6bf1a1f1c1d1e1f1",
  "receivers":[{"name":"team"}],"startsAt":"2026-11-15T08:00:00.000Z","status":{"inhibitedBy":[],"silencedBy":[],"state":"active"},
  "updatedAt":"2026-11-15T09:00:00.000Z","generatorURL":"http://prometheus/graph","labels":{"alertname":"ServiceDown","instance":"web:80"}},
 {"annotations":{},"endsAt":"2026-11-15T09:05:00.000Z","fingerprint":"00000000000000aa","receivers":[{"name":"team"}],
  "startsAt":"2026-11-15T07:00:00.000Z","status":{"inhibitedBy":[],"silencedBy":["s1"],"state":"suppressed"},
  "updatedAt":"2026-11-15T09:00:00.000Z","labels":{"alertname":"DiskFull"}}]"#;

fn server_says(asked: &Asked) -> Reply {
    match (asked.method.as_str(), asked.path.split('?').next().unwrap()) {
        ("GET", "/api/v2/alerts") => ok(ALERTS),
        ("POST", "/api/v2/alerts") | ("DELETE", "/api/v2/silence/s1") => ok(""),
        ("POST", "/api/v2/silences") => ok(r#"{"silenceID":"s2"}"#),
        _ => said("404 Not Found", ""),
    }
}

fn alertmanager(server: &Server) -> Alertmanager {
    Alertmanager::new(&connection(server), &Secrets::environment()).unwrap()
}

fn id(uid: &str) -> ResourceId {
    format!("alert:{uid}").parse().unwrap()
}

#[tokio::test]
async fn alerts_are_resources_with_their_state() {
    let server = serve(server_says).await;
    let found = alertmanager(&server).discover().await.unwrap();
    let seen: Vec<(String, &str)> = found
        .iter()
        .map(|alert| (alert.id.to_string(), alert.state.as_deref().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            ("alert:00000000000000aa".to_owned(), "dismissed"),
            ("alert:6bf1a1f1c1d1e1f1".to_owned(), "active"),
        ]
    );
    assert_eq!(found[1].aliases, ["ServiceDown", "ServiceDown web:80"]);
    let alert = alertmanager(&server)
        .alert(&id("6bf1a1f1c1d1e1f1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(alert.state(), AlertState::Active);
    assert_eq!(alertmanager(&server).alert(&id("gone")).await, Ok(None));
}

fn plan(uid: &str, action: &str) -> interlock_gate::Started {
    let id = format!("alert:{uid}");
    started(
        &id,
        "infra_alerts",
        json!({"action": action, "alert_id": id, "note": "known"}),
    )
}

#[tokio::test]
async fn a_silence_is_for_exactly_the_labels_of_the_alert() {
    let server = serve(server_says).await;
    let manager = alertmanager(&server);
    let down = id("6bf1a1f1c1d1e1f1");
    let silence = manager
        .silence(
            &plan("6bf1a1f1c1d1e1f1", "dismiss"),
            &down,
            "known",
            Duration::from_hours(1),
        )
        .await
        .unwrap();
    assert_eq!(silence, SilenceId("s2".to_owned()));
    let body = server.asked().pop().unwrap().json();
    assert_eq!(
        body["matchers"],
        json!([
            {"name": "alertname", "value": "ServiceDown", "isRegex": false, "isEqual": true},
            {"name": "instance", "value": "web:80", "isRegex": false, "isEqual": true},
        ])
    );
    assert_eq!(
        (&body["comment"], &body["createdBy"]),
        (&json!("known"), &json!("interlock"))
    );
    let full = id("00000000000000aa");
    let dismiss = plan("00000000000000aa", "dismiss");
    manager
        .expire(&dismiss, &full, &SilenceId("s1".to_owned()))
        .await
        .unwrap();
    assert_eq!(server.lines().pop().unwrap(), "DELETE /api/v2/silence/s1");
    let other = manager
        .expire(&dismiss, &full, &SilenceId("../alerts".to_owned()))
        .await;
    assert!(matches!(other, Err(Error::NotFound { .. })), "{other:?}");
}

#[tokio::test]
async fn an_alert_is_over_for_a_plan_about_it_only() {
    let server = serve(server_says).await;
    let manager = alertmanager(&server);
    let down = id("6bf1a1f1c1d1e1f1");
    manager
        .resolve(&plan("6bf1a1f1c1d1e1f1", "resolve"), &down)
        .await
        .unwrap();
    let sent = server.asked().pop().unwrap();
    let body: Value = sent.json();
    assert_eq!(
        (sent.method.as_str(), &body[0]["labels"]["instance"]),
        ("POST", &json!("web:80"))
    );
    assert!(body[0]["endsAt"].is_string());
    let asked = server.asked().len();
    let reads = reading("alert:6bf1a1f1c1d1e1f1");
    let silenced = manager
        .silence(&reads, &down, "known", Duration::from_hours(1))
        .await;
    let expired = manager.expire(&reads, &down, &SilenceId("s1".to_owned())).await;
    let resolved = manager.resolve(&reads, &down).await;
    for refused in [silenced.map(drop), expired, resolved] {
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    }
    assert_eq!(server.asked().len(), asked);
    let other = manager.resolve(&plan("00000000000000aa", "resolve"), &down).await;
    assert!(matches!(other, Err(Error::Unsupported(_))), "{other:?}");
    let gone = manager.resolve(&plan("feed", "resolve"), &id("feed")).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
}

#[tokio::test]
async fn what_is_no_answer_of_alertmanager_is_an_error() {
    type Expected = fn(&Error) -> bool;
    let cases: Vec<(Reply, Expected)> = vec![
        (ok("<html>"), |error| matches!(error, Error::Protocol { .. })),
        (ok(r#"{"alerts":[]}"#), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (cut("["), |error| matches!(error, Error::Unreachable { .. })),
        (said("401 Unauthorized", "\"no\""), |error| {
            matches!(error, Error::Unauthorized { .. })
        }),
        (said("403 Forbidden", ""), |error| {
            matches!(error, Error::Forbidden { .. })
        }),
        (said("400 Bad Request", "\"bad matcher\""), |error| {
            error.to_string().contains("bad matcher")
        }),
        (said("500 Internal Server Error", "<html>"), |error| {
            matches!(
                error,
                Error::Refused {
                    status: Some(500),
                    ..
                }
            )
        }),
    ];
    for (place, (reply, expected)) in cases.into_iter().enumerate() {
        let server = serve(move |_| reply.clone()).await;
        let error = alertmanager(&server).alerts().await.unwrap_err();
        assert!(expected(&error), "{place}: {error:?}");
    }
}
