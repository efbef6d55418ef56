//! Cookies, tokens, and changes from other sites.

use interlock_protocol::{ContentHash, Role, UserId};
use interlock_store::UserChange;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::support::{Running, Wish};

#[tokio::test]
async fn a_request_is_known_by_its_cookie_or_its_token_and_never_by_both() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let cookie = admin.cookie();
    let token = format!("Bearer {}", server.token(Role::Viewer, &["read"]).await);
    let unknown = format!("Bearer ilk_{}", "0".repeat(64));
    let other_cookie = format!("interlock_session={}", "0".repeat(64));
    let table: &[(&[(&str, &str)], (u16, &str))] = &[
        (&[], (401, "UNAUTHENTICATED")),
        (&[("cookie", &cookie)], (200, "")),
        (&[("cookie", &other_cookie)], (401, "UNAUTHENTICATED")),
        (&[("authorization", &token)], (200, "")),
        (&[("authorization", &unknown)], (401, "UNAUTHENTICATED")),
        (
            &[("authorization", "Basic YWRtaW46YWRtaW4=")],
            (401, "UNAUTHENTICATED"),
        ),
        (&[("authorization", "Bearer")], (401, "UNAUTHENTICATED")),
        (&[("authorization", "")], (401, "UNAUTHENTICATED")),
        (
            &[("authorization", &unknown), ("cookie", &cookie)],
            (401, "UNAUTHENTICATED"),
        ),
        (
            &[("authorization", &token), ("cookie", &cookie)],
            (401, "UNAUTHENTICATED"),
        ),
        (
            &[("x-forwarded-user", "admin"), ("remote-user", "admin")],
            (401, "UNAUTHENTICATED"),
        ),
    ];
    for (headers, expected) in table {
        let mut caller = server.anybody();
        for (name, value) in *headers {
            caller.set(name, value);
        }
        let reply = caller.get("/api/v1/me").await;
        assert_eq!(reply.short(), *expected, "{headers:?}");
        // A header that is no token of ours is an error also where nobody needs to be signed in.
        if headers.iter().any(|(name, _)| *name == "authorization") && expected.0 == 401 {
            assert_eq!(caller.get("/api/v1/auth/options").await.short(), *expected);
        }
    }
}

#[tokio::test]
async fn a_change_with_a_cookie_needs_our_own_page() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let other = server.signed_in("zoe", Role::Admin).await;
    let others_token = other.headers["x-csrf-token"].to_str().unwrap().to_owned();
    let ours = server.url.clone();
    let view = json!({ "name": "mine", "query": "status=failed" });
    let right = admin.headers["x-csrf-token"].to_str().unwrap().to_owned();
    let short = &right[..63];
    let table: &[(Option<&str>, Option<&str>, Option<&str>, (u16, &str))] = &[
        (Some(&right), None, None, (201, "")),
        (Some(&right), Some(&ours), Some("same-origin"), (201, "")),
        (None, Some(&ours), Some("same-origin"), (403, "CSRF_FAILED")),
        (None, None, None, (403, "CSRF_FAILED")),
        (Some(""), None, None, (403, "CSRF_FAILED")),
        (Some(short), None, None, (403, "CSRF_FAILED")),
        (Some(&others_token), None, None, (403, "CSRF_FAILED")),
        (
            Some(&right),
            Some("http://evil.example"),
            None,
            (421, "WRONG_ORIGIN"),
        ),
        (Some(&right), Some("null"), None, (421, "WRONG_ORIGIN")),
        (Some(&right), None, Some("cross-site"), (421, "WRONG_ORIGIN")),
        (
            Some(&right),
            Some(&ours),
            Some("same-site"),
            (421, "WRONG_ORIGIN"),
        ),
    ];
    for (csrf, origin, site, expected) in table {
        let mut caller = admin.clone().without("x-csrf-token");
        for (name, value) in [
            ("x-csrf-token", csrf),
            ("origin", origin),
            ("sec-fetch-site", site),
        ] {
            if let Some(value) = value {
                caller.set(name, value);
            }
        }
        let reply = caller.post("/api/v1/me/views", &view).await;
        assert_eq!(reply.short(), *expected, "{csrf:?} {origin:?} {site:?}");
    }
    // A program with a token has no page; but a page of another site may not use it either.
    let program = server.program(Role::Operator, &["read", "operate"]).await;
    assert_eq!(program.post("/api/v1/me/views", &view).await.status, 201);
    let elsewhere = program.with("origin", "http://evil.example");
    let reply = elsewhere.post("/api/v1/me/views", &view).await;
    assert_eq!(reply.short(), (421, "WRONG_ORIGIN"));
}

#[tokio::test]
async fn what_ended_does_not_work_any_more() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    assert_eq!(admin.get("/api/v1/me").await.status, 200);
    // A cookie whose time is over.
    let past = Timestamp::now() - SignedDuration::from_secs(1);
    let secret = admin.cookie().split_once('=').unwrap().1.to_owned();
    server
        .store
        .extend_login(&ContentHash::of(&secret), past)
        .await
        .unwrap();
    assert_eq!(admin.get("/api/v1/me").await.status, 401);
    // A browser that signed out.
    let zoe = server.signed_in("zoe", Role::Operator).await;
    assert_eq!(zoe.post("/api/v1/auth/sign-out", &json!({})).await.status, 204);
    assert_eq!(zoe.get("/api/v1/me").await.status, 401);
    // Somebody who was disabled, and their token.
    let bob = server.signed_in("bob", Role::Operator).await;
    let made = bob
        .post("/api/v1/me/tokens", &json!({ "name": "ci", "scopes": ["read"] }))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let secret = made.json["secret"].as_str().unwrap();
    let program = server
        .anybody()
        .with("authorization", &format!("Bearer {secret}"));
    assert_eq!(program.get("/api/v1/me").await.status, 200);
    let change = UserChange {
        enabled: Some(false),
        ..UserChange::default()
    };
    server
        .store
        .change_user(&UserId::new("bob").unwrap(), change)
        .await
        .unwrap();
    assert_eq!(bob.get("/api/v1/me").await.status, 401);
    assert_eq!(program.get("/api/v1/me").await.status, 401);
}

#[tokio::test]
async fn a_browser_that_is_used_stays_signed_in_and_not_beyond_its_end() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let secret = admin.cookie().split_once('=').unwrap().1.to_owned();
    let hash = ContentHash::of(&secret);
    let now = Timestamp::now();
    let soon = now + SignedDuration::from_mins(5);
    server.store.extend_login(&hash, soon).await.unwrap();
    assert_eq!(admin.get("/api/v1/me").await.status, 200);
    let (login, _) = server.store.login(&hash, now).await.unwrap().unwrap();
    let idle = SignedDuration::from_hours(12);
    assert!(login.expires_at >= now + idle, "{}", login.expires_at);
    assert!(
        login.expires_at <= Timestamp::now() + idle,
        "{}",
        login.expires_at
    );
}

#[tokio::test]
async fn a_token_may_do_what_its_scopes_say_and_never_more_than_its_owner() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let operator = server.signed_in("zoe", Role::Operator).await;
    let reader = server.program(Role::Admin, &["read"]).await;
    let demoted = server.program(Role::Viewer, &["read", "admin"]).await;
    let full = server.program(Role::Admin, &["read", "admin"]).await;
    let wanted = |scopes: &[&str]| json!({ "name": "ci", "scopes": scopes });
    for (caller, scopes, expected) in [
        (&admin, &["read", "operate", "approve", "admin"][..], (201, "")),
        (&operator, &["read", "operate"], (201, "")),
        (&operator, &["approve"], (403, "FORBIDDEN")),
        (&operator, &["admin"], (403, "FORBIDDEN")),
        (&operator, &[], (400, "INVALID_INPUT")),
        (&operator, &["everything"], (400, "INVALID_INPUT")),
        // A token makes another only with the scope `admin`, and none with more than it has itself.
        (&reader, &["read"], (403, "FORBIDDEN")),
        (&demoted, &["read"], (403, "FORBIDDEN")),
        (&full, &["read"], (201, "")),
        (&full, &["operate"], (403, "FORBIDDEN")),
    ] {
        let reply = caller.post("/api/v1/me/tokens", &wanted(scopes)).await;
        assert_eq!(reply.short(), expected, "{scopes:?} {}", reply.text);
    }
    assert_eq!(reader.get("/api/v1/users").await.short(), (403, "FORBIDDEN"));
    assert_eq!(demoted.get("/api/v1/users").await.short(), (403, "FORBIDDEN"));
    assert_eq!(full.get("/api/v1/users").await.status, 200);
}
