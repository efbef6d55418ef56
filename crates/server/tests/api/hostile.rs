//! What nobody should send.

use serde_json::json;

use crate::place::{Place, Wish};

const JSON: Option<&str> = Some("application/json");

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_and_never_a_mistake_of_ours() {
    let place = Place::new(Wish::default()).await;
    let deep = format!("{{\"data\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let long = format!("{{\"message\":\"{}\"}}", "x".repeat(100_001));
    let hash = "0".repeat(64);
    let upper = format!("{{\"token\":\"{}\",\"plan_hash\":\"{hash}\"}}", "A".repeat(64));
    let fields = format!("{{\"token\":\"{hash}\",\"plan_hash\":\"{hash}\",\"more\":1}}");
    let bodies: &[(&str, &str, Option<&str>, &[u8], u16, &str)] = &[
        ("POST", "/alerts", JSON, b"", 400, "INVALID_INPUT"),
        ("POST", "/alerts", JSON, b"{", 400, "INVALID_INPUT"),
        ("POST", "/alerts", JSON, b"[]", 400, "INVALID_INPUT"),
        ("POST", "/alerts", JSON, b"{}", 400, "INVALID_INPUT"),
        ("POST", "/alerts", JSON, b"\xff\xfe", 400, "INVALID_INPUT"),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":1,"data":2}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":"x","typo":1}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":1e999}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":"x","priority":99999999999}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":"x","priority":101}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":"x","alert_type":""}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/alerts",
            JSON,
            br#"{"data":"x","alert_type":"a\u0000b"}"#,
            400,
            "INVALID_INPUT",
        ),
        ("POST", "/alerts", JSON, br#"{"data":"  "}"#, 400, "INVALID_INPUT"),
        ("POST", "/alerts", JSON, deep.as_bytes(), 400, "INVALID_INPUT"),
        (
            "POST",
            "/alerts",
            None,
            br#"{"data":"x"}"#,
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "POST",
            "/alerts",
            Some("text/plain"),
            br#"{"data":"x"}"#,
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "POST",
            "/alerts/alertmanager",
            JSON,
            br#"{"alerts":{"status":"odd"}}"#,
            400,
            "INVALID_INPUT",
        ),
        ("POST", "/chats", JSON, br#"{"message":""}"#, 400, "INVALID_INPUT"),
        (
            "POST",
            "/chats",
            JSON,
            br#"{"message":"x","model":"nosuch"}"#,
            400,
            "INVALID_INPUT",
        ),
        ("POST", "/chats", JSON, long.as_bytes(), 400, "INVALID_INPUT"),
        (
            "POST",
            "/sessions/ses_1/messages",
            JSON,
            br#"{"message":"x"}"#,
            404,
            "NOT_FOUND",
        ),
        (
            "POST",
            "/sessions/%00/messages",
            JSON,
            br#"{"message":"x"}"#,
            404,
            "NOT_FOUND",
        ),
        (
            "POST",
            "/sessions/bulk",
            JSON,
            br#"{"sessions":[],"action":"cancel"}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/sessions/bulk",
            JSON,
            br#"{"sessions":["x"],"action":"burn"}"#,
            400,
            "INVALID_INPUT",
        ),
        ("POST", "/sessions/ses_1/cancel", None, b"", 404, "NOT_FOUND"),
        ("DELETE", "/sessions/ses_1", None, b"", 404, "NOT_FOUND"),
        ("POST", "/sessions/ses_1/restore", None, b"", 404, "NOT_FOUND"),
        ("POST", "/approvals/hold_1/open", None, b"", 404, "NOT_FOUND"),
        (
            "POST",
            "/approvals/hold_1/approve",
            JSON,
            upper.as_bytes(),
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/approvals/hold_1/approve",
            JSON,
            fields.as_bytes(),
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/approvals/hold_1/deny",
            JSON,
            br#"{"reason":" "}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/approvals/hold_1/deny",
            JSON,
            br#"{"reason":"no"}"#,
            404,
            "NOT_FOUND",
        ),
        (
            "POST",
            "/approvals/hold_1/edit",
            JSON,
            br#"{"arguments":[],"plan_hash":"x"}"#,
            400,
            "INVALID_INPUT",
        ),
        (
            "POST",
            "/writes/stop",
            JSON,
            br#"{"because":1}"#,
            400,
            "INVALID_INPUT",
        ),
        ("GET", "/sessions?page=0", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions?page=-1", None, b"", 400, "INVALID_INPUT"),
        (
            "GET",
            "/sessions?page=99999999999999999999",
            None,
            b"",
            400,
            "INVALID_INPUT",
        ),
        ("GET", "/sessions?page_size=101", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions?sort=size", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions?order=up", None, b"", 400, "INVALID_INPUT"),
        (
            "GET",
            "/sessions?status=held,odd",
            None,
            b"",
            400,
            "INVALID_INPUT",
        ),
        ("GET", "/sessions?from=yesterday", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions?typo=1", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions?page=1&page=2", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions/%ff", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/sessions/a%20b", None, b"", 404, "NOT_FOUND"),
        (
            "GET",
            "/sessions/ses_1/events?limit=1001",
            None,
            b"",
            400,
            "INVALID_INPUT",
        ),
        (
            "GET",
            "/sessions/ses_1/trace?replay=perhaps",
            None,
            b"",
            400,
            "INVALID_INPUT",
        ),
        ("GET", "/approvals?limit=0", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/approvals?status=odd", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/decisions?answer=maybe", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/decisions?before=0", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/audit?limit=201", None, b"", 400, "INVALID_INPUT"),
        ("GET", "/usage?group_by=hour", None, b"", 400, "INVALID_INPUT"),
        (
            "GET",
            "/resources/host:web/metrics?hours=0",
            None,
            b"",
            400,
            "INVALID_INPUT",
        ),
        ("GET", "/resources/odd:web", None, b"", 404, "NOT_FOUND"),
        ("GET", "/resources/host:nosuch", None, b"", 404, "NOT_FOUND"),
        ("PUT", "/alerts", JSON, b"{}", 405, "METHOD_NOT_ALLOWED"),
    ];
    for (method, path, kind, body, status, code) in bodies {
        let mut request = place.request(Some("root"), method, &format!("/api/v1{path}"));
        if let Some(kind) = kind {
            request = request.header("content-type", *kind);
        }
        let answer = place.send(request.body(body.to_vec())).await;
        let shown = String::from_utf8_lossy(body);
        let shown: String = shown.chars().take(80).collect();
        assert_eq!(
            answer.problem(),
            (*status, (*code).to_owned()),
            "{method} {path} {shown}: {answer:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_but_true_filters_find_nothing() {
    let place = Place::new(Wish::default()).await;
    place.alert("nginx does not answer").await;
    let lists = [
        ("/sessions?owner=a%00b", "sessions"),
        ("/sessions?search=%00", "sessions"),
        ("/sessions?search=%25%5F%27%22--", "sessions"),
        (
            "/sessions?from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z",
            "sessions",
        ),
        ("/sessions?from=2250-12-31T23:59:59Z", "sessions"),
        ("/sessions?page=1000000&page_size=100", "sessions"),
        ("/sessions?alert_type=nosuch", "sessions"),
        ("/approvals?session=nosuch", "approvals"),
        ("/approvals?session=a%20b", "approvals"),
        ("/decisions?session=nosuch", "decisions"),
        ("/decisions?before=9007199254740991&code=ODD", "decisions"),
        ("/audit?actor=%E2%80%8B", "entries"),
        ("/resources?kind=odd", "resources"),
        ("/resources?search=%00", "resources"),
    ];
    for (path, name) in lists {
        let body = place.get("root", path).await.ok(200);
        assert_eq!(body[name], json!([]), "{path}");
    }
    let found = place
        .get("vera", "/sessions?search=nginx&status=pending,held")
        .await
        .ok(200);
    assert_eq!(found["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_told_with_its_place() {
    let place = Place::new(Wish::default()).await;
    let request = place
        .request(Some("olga"), "POST", "/api/v1/alerts")
        .header("content-type", "application/json")
        .body("{\"data\": \"x\",\n \"typo\": 1}");
    let body = place.send(request).await.json();
    assert_eq!(body["details"], json!({"line": 2, "column": 7}), "{body:#}");
    assert!(body["detail"].as_str().unwrap().contains("`typo`"), "{body:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused() {
    let place = Place::new(Wish::default()).await;
    let most = 1024 * 1024;
    let body = |bytes: usize| {
        let frame = r#"{"data":""}"#.len();
        format!("{{\"data\":\"{}\"}}", "x".repeat(bytes - frame))
    };
    // Questions have less room than alerts.
    let question = |bytes: usize| body(bytes).replace("data", "message");
    for (bytes, status) in [(most - 3, 400), (most - 2, 413)] {
        let request = place
            .request(Some("olga"), "POST", "/api/v1/chats")
            .header("content-type", "application/json")
            .body(question(bytes));
        assert_eq!(place.send(request).await.status, status, "{bytes}");
    }
    let most = 16 * most;
    for (bytes, status) in [(most, 202), (most + 1, 413), (most + most / 4, 413)] {
        let request = place
            .request(Some("olga"), "POST", "/api/v1/alerts")
            .header("content-type", "application/json")
            .body(body(bytes));
        let answer = place.send(request).await;
        assert_eq!(answer.status, status, "{bytes}");
        if status == 413 {
            assert_eq!(answer.problem().1, "TOO_LARGE");
        }
        // Refused for another reason, in the middle of sending: the answer comes through, too.
        let stranger = place
            .request(None, "POST", "/api/v1/alerts")
            .header("content-type", "application/json")
            .body(body(bytes));
        assert_eq!(
            place.send(stranger).await.status,
            if status == 413 { 413 } else { 401 }
        );
    }
}
