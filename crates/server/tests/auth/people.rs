//! Users, views, and who may look after them.

use interlock_protocol::Role;
use interlock_store::UserChange;
use serde_json::json;

use crate::support::{Running, Wish};

#[tokio::test]
async fn only_admins_look_after_people() {
    let server = Running::start(Wish::default()).await;
    let _ = server.admin().await;
    let new = json!({ "id": "eve", "role": "admin" });
    for role in [Role::Viewer, Role::Operator, Role::Approver] {
        let caller = server.signed_in(role.as_str(), role).await;
        for reply in [
            caller.get("/api/v1/users").await,
            caller.post("/api/v1/users", &new).await,
            caller
                .patch("/api/v1/users/admin", &json!({ "enabled": false }))
                .await,
            caller.delete("/api/v1/users/admin").await,
            caller.post("/api/v1/users/admin/link", &json!({})).await,
            caller.get("/api/v1/tokens").await,
            caller.delete("/api/v1/tokens/tok_1").await,
        ] {
            assert_eq!(reply.short(), (403, "FORBIDDEN"), "{role}");
        }
        assert_eq!(caller.get("/api/v1/me").await.status, 200);
    }
}

#[tokio::test]
async fn users_are_made_changed_and_removed_but_never_the_last_admin() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    for (user, expected) in [
        (json!({ "id": "zoe", "role": "operator" }), (201, "")),
        (json!({ "id": "zoe", "role": "operator" }), (409, "CONFLICT")),
        (json!({ "id": "", "role": "operator" }), (400, "INVALID_INPUT")),
        (
            json!({ "id": "a\nb", "role": "operator" }),
            (400, "INVALID_INPUT"),
        ),
        (
            json!({ "id": "x".repeat(129), "role": "operator" }),
            (400, "INVALID_INPUT"),
        ),
        (json!({ "id": "bob", "role": "king" }), (400, "INVALID_INPUT")),
        (
            json!({ "id": "bob", "role": "viewer", "password": "short" }),
            (400, "INVALID_INPUT"),
        ),
        (
            json!({ "id": "bob", "role": "viewer", "root": true }),
            (400, "INVALID_INPUT"),
        ),
        (json!({ "id": "bob" }), (400, "INVALID_INPUT")),
    ] {
        let reply = admin.post("/api/v1/users", &user).await;
        assert_eq!(reply.short(), expected, "{user} {}", reply.text);
    }
    for (path, change, expected) in [
        ("/api/v1/users/zoe", json!({ "role": "approver" }), (200, "")),
        ("/api/v1/users/zoe", json!({}), (200, "")),
        ("/api/v1/users/nobody", json!({}), (404, "NOT_FOUND")),
        (
            "/api/v1/users/nobody",
            json!({ "role": "approver" }),
            (404, "NOT_FOUND"),
        ),
        (
            "/api/v1/users/admin",
            json!({ "role": "viewer" }),
            (409, "CONFLICT"),
        ),
        (
            "/api/v1/users/admin",
            json!({ "enabled": false }),
            (409, "CONFLICT"),
        ),
    ] {
        let reply = admin.patch(path, &change).await;
        assert_eq!(reply.short(), expected, "{path} {change} {}", reply.text);
    }
    assert_eq!(
        admin.delete("/api/v1/users/admin").await.short(),
        (409, "CONFLICT")
    );
    assert_eq!(
        admin.delete("/api/v1/users/nobody").await.short(),
        (404, "NOT_FOUND")
    );
    let listed = admin.get("/api/v1/users").await;
    let names: Vec<(&str, &str)> = listed.json["users"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| (user["id"].as_str().unwrap(), user["role"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("admin", "admin"), ("zoe", "approver")]);
    assert!(!listed.text.contains("argon2"), "no hash leaves the server");
    assert_eq!(admin.delete("/api/v1/users/zoe").await.status, 204);
}

#[tokio::test]
async fn a_name_that_could_be_mistaken_for_another_is_refused() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let (wrong, taken) = ((400, "INVALID_INPUT"), (409, "CONFLICT"));
    for (name, expected) in [
        ("zoe", (201, "")),
        ("Zoe", taken),
        ("ZOE", taken),
        ("Admin", taken),
        ("\u{430}dmin", wrong),
        ("adm\u{131}n", wrong),
        ("adm\u{ff49}n", wrong),
        ("admin\u{200b}", wrong),
        ("admin\u{3164}", wrong),
        ("\u{202e}nimda", wrong),
        ("admin ", wrong),
        (" admin", wrong),
        ("ad\u{0}min", wrong),
        ("..", wrong),
        ("a/b", wrong),
        ("-h", wrong),
        ("bob.o@example.org", (201, "")),
    ] {
        let new = json!({ "id": name, "role": "viewer" });
        let reply = admin.post("/api/v1/users", &new).await;
        assert_eq!(reply.short(), expected, "{name:?} {}", reply.text);
    }
}

#[tokio::test]
async fn whoever_had_an_odd_name_before_still_signs_in() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let name = "Zo\u{eb} \u{c5}ngstr\u{f6}m";
    let database = rusqlite::Connection::open(server.folder.join("interlock.db")).unwrap();
    let sql = "INSERT INTO users (id, role, enabled, revision, created_at) VALUES (?, 'viewer', 1, 1, 0)";
    database.execute(sql, [name]).unwrap();
    let path = "/api/v1/users/Zo%C3%AB%20%C3%85ngstr%C3%B6m";
    let made = admin.post(&format!("{path}/link"), &json!({})).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let mut zoe = server.anybody();
    zoe.link(
        made.json["link"]
            .as_str()
            .unwrap()
            .split_once("#link=")
            .unwrap()
            .1,
    )
    .await;
    assert_eq!(zoe.get("/api/v1/me").await.json["user"]["id"], name);
    let password = json!({ "new": "correct horse battery" });
    assert_eq!(zoe.put("/api/v1/me/password", &password).await.status, 204);
    let with_password = json!({ "user": name, "password": "correct horse battery" });
    let reply = server
        .anybody()
        .post("/api/v1/auth/sign-in", &with_password)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(
        admin.patch(path, &json!({ "role": "operator" })).await.status,
        200
    );
    assert_eq!(admin.delete(path).await.status, 204);
}

#[tokio::test]
async fn a_role_that_changes_counts_at_once() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let zoe = server.signed_in("zoe", Role::Viewer).await;
    assert_eq!(zoe.get("/api/v1/users").await.status, 403);
    admin
        .patch("/api/v1/users/zoe", &json!({ "role": "admin" }))
        .await;
    assert_eq!(zoe.get("/api/v1/users").await.status, 200);
    zoe.patch("/api/v1/users/zoe", &json!({ "role": "viewer" })).await;
    assert_eq!(zoe.get("/api/v1/users").await.status, 403);
}

#[tokio::test]
async fn views_are_everybodys_own() {
    let server = Running::start(Wish::default()).await;
    let zoe = server.signed_in("zoe", Role::Viewer).await;
    let bob = server.signed_in("bob", Role::Viewer).await;
    for (view, expected) in [
        (json!({ "name": "failed", "query": "status=failed" }), 201),
        (
            json!({ "name": "failed", "query": "status=failed&sort=title" }),
            201,
        ),
        (json!({ "name": " ", "query": "" }), 400),
        (json!({ "name": "x".repeat(129), "query": "" }), 400),
        (json!({ "name": "long", "query": "x".repeat(2049) }), 400),
    ] {
        assert_eq!(
            zoe.post("/api/v1/me/views", &view).await.status,
            expected,
            "{view}"
        );
    }
    let views = zoe.get("/api/v1/me/views").await.json;
    assert_eq!(views["views"].as_array().unwrap().len(), 1);
    assert_eq!(views["views"][0]["query"], "status=failed&sort=title");
    let path = format!("/api/v1/me/views/{}", views["views"][0]["id"].as_str().unwrap());
    assert_eq!(bob.get("/api/v1/me/views").await.json, json!({ "views": [] }));
    assert_eq!(bob.delete(&path).await.short(), (404, "NOT_FOUND"));
    assert_eq!(zoe.delete(&path).await.status, 204);
}

#[tokio::test]
async fn a_token_is_shown_once_and_revoked_by_its_owner_or_an_admin() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let zoe = server.signed_in("zoe", Role::Operator).await;
    let bob = server.signed_in("bob", Role::Operator).await;
    let new = json!({ "name": "ci", "scopes": ["operate", "read", "read"], "days": 1 });
    let made = zoe.post("/api/v1/me/tokens", &new).await;
    assert_eq!(made.json["token"]["scopes"], json!(["read", "operate"]));
    let secret = made.json["secret"].as_str().unwrap();
    assert_eq!((secret.len(), &secret[..4]), (68, "ilk_"));
    for days in [0, 3651] {
        let bad = json!({ "name": "ci", "scopes": ["read"], "days": days });
        assert_eq!(zoe.post("/api/v1/me/tokens", &bad).await.status, 400);
    }
    let listed = zoe.get("/api/v1/me/tokens").await;
    assert!(!listed.text.contains(secret));
    let id = made.json["token"]["id"].as_str().unwrap();
    assert_eq!(bob.delete(&format!("/api/v1/me/tokens/{id}")).await.status, 404);
    let program = server
        .anybody()
        .with("authorization", &format!("Bearer {secret}"));
    assert_eq!(program.get("/api/v1/me").await.json["via"], "token");
    assert_eq!(admin.get("/api/v1/tokens").await.json["tokens"][0]["user"], "zoe");
    assert_eq!(admin.delete(&format!("/api/v1/tokens/{id}")).await.status, 204);
    assert_eq!(program.get("/api/v1/me").await.status, 401);
}

#[tokio::test]
async fn a_token_makes_people_only_if_it_may_everything() {
    let server = Running::start(Wish::default()).await;
    let _ = server.admin().await;
    server.user("zoe", Role::Operator).await;
    let refused = (403, "FORBIDDEN");
    for (scopes, name, expected, made) in [
        (&["read", "admin"][..], "one", refused, refused),
        (&["read", "operate", "admin"], "two", refused, refused),
        (
            &["read", "operate", "approve", "admin"],
            "three",
            (200, ""),
            (201, ""),
        ),
    ] {
        let program = server.program(Role::Admin, scopes).await;
        let new = json!({ "id": name, "role": "viewer" });
        assert_eq!(
            program.post("/api/v1/users", &new).await.short(),
            made,
            "{scopes:?}"
        );
        let link = program.post("/api/v1/users/zoe/link", &json!({})).await;
        assert_eq!(link.short(), expected, "{scopes:?}");
        for (role, expected) in [
            ("approver", expected),
            ("viewer", (200, "")),
            ("operator", expected),
        ] {
            let reply = program.patch("/api/v1/users/zoe", &json!({ "role": role })).await;
            assert_eq!(reply.short(), expected, "{scopes:?} {role}");
        }
        for (enabled, expected) in [(false, (200, "")), (true, expected), (true, expected)] {
            let reply = program
                .patch("/api/v1/users/zoe", &json!({ "enabled": enabled }))
                .await;
            assert_eq!(reply.short(), expected, "{scopes:?} {enabled}");
        }
        let back = UserChange {
            role: Some(Role::Operator),
            enabled: Some(true),
            ..UserChange::default()
        };
        server
            .store
            .change_user(&"zoe".parse().unwrap(), back)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_token_revokes_itself_and_changes_no_more_than_its_scopes_say() {
    let server = Running::start(Wish::default()).await;
    let zoe = server.signed_in("zoe", Role::Admin).await;
    let view = json!({ "name": "mine", "query": "" });
    for (scopes, others, kept) in [
        (&["read"][..], (403, "FORBIDDEN"), (403, "FORBIDDEN")),
        (&["read", "operate"], (403, "FORBIDDEN"), (201, "")),
        (&["read", "admin"], (204, ""), (201, "")),
    ] {
        let new = json!({ "name": "ci", "scopes": scopes });
        let (one, other) = (
            zoe.post("/api/v1/me/tokens", &new).await,
            zoe.post("/api/v1/me/tokens", &new).await,
        );
        let path = |made: &crate::support::Reply| {
            format!("/api/v1/me/tokens/{}", made.json["token"]["id"].as_str().unwrap())
        };
        let bearer = format!("Bearer {}", one.json["secret"].as_str().unwrap());
        let program = server.anybody().with("authorization", &bearer);
        assert_eq!(
            program.post("/api/v1/me/views", &view).await.short(),
            kept,
            "{scopes:?}"
        );
        let mine = zoe.post("/api/v1/me/views", &view).await;
        let mine = format!("/api/v1/me/views/{}", mine.json["id"].as_str().unwrap());
        let removed = if kept.0 == 201 { (204, "") } else { kept };
        assert_eq!(program.delete(&mine).await.short(), removed, "{scopes:?}");
        assert_eq!(program.delete(&path(&other)).await.short(), others, "{scopes:?}");
        assert_eq!(program.delete(&path(&one)).await.short(), (204, ""), "{scopes:?}");
        assert_eq!(program.get("/api/v1/me").await.status, 401);
    }
}
