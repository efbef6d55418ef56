//! Signing in with links and passwords.

use interlock_protocol::{ContentHash, Role, UserId};
use interlock_server::sign_in_link;
use interlock_store::{AuditFilter, Login};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::support::{Running, Wish};

const PASSWORD: &str = "correct horse battery staple";

#[tokio::test]
async fn a_link_works_once() {
    let server = Running::start(Wish::default()).await;
    let (user, link) = sign_in_link(&server.store, None).await.unwrap();
    assert_eq!(user.as_str(), "admin");
    let mut first = server.anybody();
    let reply = first.link(&link).await;
    assert_eq!(reply.json["user"]["role"], "admin");
    assert_eq!(reply.json["user"]["sign_in"], "link");
    assert_eq!(reply.json["may"], json!(["read", "operate", "approve", "admin"]));
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("interlock_session="), "{cookie}");
    assert!(
        cookie.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    for link in [link.as_str(), "", "nonsense", &"0".repeat(64)] {
        let reply = server
            .anybody()
            .post("/api/v1/auth/link", &json!({ "link": link }))
            .await;
        assert_eq!(reply.short(), (401, "SIGN_IN_FAILED"), "{link}");
        assert!(!reply.headers.contains_key("set-cookie"));
    }
    // Neither the link nor the cookie is in the database.
    let secret = first.cookie().split_once('=').unwrap().1.to_owned();
    for name in ["interlock.db", "interlock.db-wal"] {
        let bytes = std::fs::read(server.folder.join(name)).unwrap_or_default();
        for secret in [&link, &secret] {
            assert!(
                !bytes.windows(64).any(|window| window == secret.as_bytes()),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn a_password_signs_in_and_a_wrong_one_says_nothing() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    for (id, password) in [
        ("zoe", Some(PASSWORD)),
        ("gone", Some(PASSWORD)),
        ("linked", None),
    ] {
        let user = json!({ "id": id, "role": "operator", "password": password });
        assert_eq!(admin.post("/api/v1/users", &user).await.status, 201);
    }
    let off = json!({ "enabled": false });
    assert_eq!(admin.patch("/api/v1/users/gone", &off).await.status, 200);
    let mut answers = Vec::new();
    for (user, password) in [
        ("zoe", "wrong horse battery staple"),
        ("nobody", PASSWORD),
        ("gone", PASSWORD),
        ("linked", PASSWORD),
        ("linked", ""),
        ("", PASSWORD),
        ("zoe\u{0}", PASSWORD),
    ] {
        let body = json!({ "user": user, "password": password });
        let reply = server.anybody().post("/api/v1/auth/sign-in", &body).await;
        assert_eq!(reply.short(), (401, "SIGN_IN_FAILED"), "{user}");
        answers.push(reply.text);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "all answers are the same: {answers:?}");
    let mut zoe = server.anybody();
    let body = json!({ "user": "zoe", "password": PASSWORD });
    let reply = zoe.post("/api/v1/auth/sign-in", &body).await;
    zoe.keep(&reply);
    assert_eq!(zoe.get("/api/v1/me").await.json["has_password"], true);
    // Signing in again makes a new cookie, and the old one is over.
    let before = zoe.clone();
    let reply = zoe.post("/api/v1/auth/sign-in", &body).await;
    zoe.keep(&reply);
    assert_ne!(before.cookie(), zoe.cookie());
    assert_eq!(before.get("/api/v1/me").await.status, 401);
    assert_eq!(zoe.get("/api/v1/me").await.status, 200);
}

#[tokio::test]
async fn signing_in_from_the_page_of_another_site_is_refused() {
    let server = Running::start(Wish::default()).await;
    let (_, link) = sign_in_link(&server.store, None).await.unwrap();
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let caller = server.anybody().with(name, value);
        let reply = caller.post("/api/v1/auth/link", &json!({ "link": link })).await;
        assert_eq!(reply.short(), (421, "WRONG_ORIGIN"));
    }
    let ours = server.url.clone();
    let mut caller = server.anybody().with("origin", &ours);
    caller.link(&link).await;
}

#[tokio::test]
async fn who_guesses_waits_even_with_the_right_password() {
    let server = Running::start(Wish::with(|config| config.server.limits.sign_in_attempts = 3)).await;
    let admin = server.admin().await;
    let user = json!({ "id": "zoe", "role": "viewer", "password": PASSWORD });
    assert_eq!(admin.post("/api/v1/users", &user).await.status, 201);
    let mut seen = Vec::new();
    for password in ["wrong", "wrong", "wrong", PASSWORD, PASSWORD] {
        let body = json!({ "user": "zoe", "password": password });
        let reply = server.anybody().post("/api/v1/auth/sign-in", &body).await;
        seen.push((reply.status.as_u16(), reply.headers.contains_key("retry-after")));
    }
    assert_eq!(
        seen,
        [(401, false), (401, false), (401, false), (429, true), (429, true)]
    );
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_or_came_by_a_link() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let weak = json!({ "new": "short" });
    assert_eq!(
        admin.put("/api/v1/me/password", &weak).await.short(),
        (400, "INVALID_INPUT")
    );
    let first = json!({ "new": PASSWORD });
    assert_eq!(admin.put("/api/v1/me/password", &first).await.status, 204);
    // Somebody who signed in with the password must know it.
    let mut browser = server.anybody();
    let body = json!({ "user": "admin", "password": PASSWORD });
    let reply = browser.post("/api/v1/auth/sign-in", &body).await;
    browser.keep(&reply);
    let new = "another horse, another battery";
    for (current, expected) in [
        (json!(null), (403, "FORBIDDEN")),
        (json!("wrong"), (403, "FORBIDDEN")),
        (json!(PASSWORD), (204, "")),
    ] {
        let body = json!({ "current": current, "new": new });
        let reply = browser.put("/api/v1/me/password", &body).await;
        assert_eq!(reply.short(), expected, "{current}");
    }
    // Every other browser is signed out.
    assert_eq!(browser.get("/api/v1/me").await.status, 200);
    assert_eq!(admin.get("/api/v1/me").await.status, 401);
    // Who forgot it comes by a link.
    let forgetful = server.admin().await;
    let body = json!({ "new": PASSWORD });
    assert_eq!(forgetful.put("/api/v1/me/password", &body).await.status, 204);
    // Not for ever: a browser that was left signed in changes no password. Whoever has none yet sets one.
    let id = UserId::new("admin").unwrap();
    server.user("zoe", Role::Viewer).await;
    let zoe = UserId::new("zoe").unwrap();
    for (user, minutes, expected) in [
        (&id, 14, (204, "")),
        (&id, 16, (403, "FORBIDDEN")),
        (&zoe, 16, (204, "")),
        (&zoe, 16, (403, "FORBIDDEN")),
    ] {
        let secret = ContentHash::of(format!("{user} {minutes} {expected:?}")).to_string();
        let now = Timestamp::now();
        let login = Login {
            hash: ContentHash::of(&secret),
            user: user.clone(),
            csrf: "c".repeat(64),
            from: "link 127.0.0.1 a browser".to_owned(),
            created_at: now - SignedDuration::from_mins(minutes),
            expires_at: now + SignedDuration::from_hours(1),
        };
        server.store.create_login(login).await.unwrap();
        let left = server
            .anybody()
            .with("cookie", &format!("interlock_session={secret}"))
            .with("x-csrf-token", &"c".repeat(64));
        let reply = left.put("/api/v1/me/password", &body).await;
        assert_eq!(reply.short(), expected, "{user} {minutes} {}", reply.text);
    }
    // A token changes no password.
    let program = server.program(Role::Admin, &["read", "admin"]).await;
    assert_eq!(
        program.put("/api/v1/me/password", &body).await.short(),
        (403, "FORBIDDEN")
    );
}

#[tokio::test]
async fn what_people_do_is_in_the_audit_log_without_secrets() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let user = json!({ "id": "zoe", "role": "viewer" });
    let made = admin.post("/api/v1/users", &user).await;
    let link = made.json["link"].as_str().unwrap().to_owned();
    assert!(
        link.starts_with(&format!("{}/sign-in#link=", server.url)),
        "{link}"
    );
    admin
        .patch("/api/v1/users/zoe", &json!({ "role": "operator" }))
        .await;
    let token = admin
        .post("/api/v1/me/tokens", &json!({ "name": "ci", "scopes": ["read"] }))
        .await;
    let id = token.json["token"]["id"].as_str().unwrap();
    assert_eq!(admin.delete(&format!("/api/v1/me/tokens/{id}")).await.status, 204);
    assert_eq!(admin.delete(&format!("/api/v1/me/tokens/{id}")).await.status, 404);
    admin.delete("/api/v1/users/zoe").await;
    let body = json!({ "user": "admin", "password": "hunter2hunter2" });
    admin.clone().post("/api/v1/auth/sign-in", &body).await;
    admin.post("/api/v1/auth/sign-out", &json!({})).await;
    let filter = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    let mut entries = server.store.audit_entries(&filter).await.unwrap();
    entries.reverse();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.deed.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "user.created",
            "link.created",
            "sign_in",
            "user.created",
            "link.created",
            "user.changed",
            "token.created",
            "token.revoked",
            "user.removed",
            "sign_in.failed",
            "sign_out",
        ]
    );
    let text = serde_json::to_string(&entries).unwrap();
    let secret = token.json["secret"].as_str().unwrap();
    let (_, link) = link.split_once("#link=").unwrap();
    for secret in [
        secret,
        link,
        "hunter2hunter2",
        admin.cookie().split_once('=').unwrap().1,
    ] {
        assert!(!text.contains(secret));
    }
    assert_eq!(server.store.verify_audit().await.unwrap().broken, None);
}
