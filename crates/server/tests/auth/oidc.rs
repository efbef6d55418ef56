//! Signing in with a provider, and everything that must not sign anybody in.

use std::collections::HashMap;

use interlock_config::Oidc;
use interlock_protocol::{Role, UserId};
use interlock_store::AuditFilter;
use serde_json::{Value, json};

use crate::provider::{CLIENT, Lie, Provider, SECRET};
use crate::support::{Caller, Reply, Running, Wish};

struct Scene {
    server: Running,
    provider: Provider,
    _folder: tempfile::TempDir,
}

async fn scene(change: impl FnOnce(&mut Oidc)) -> Scene {
    let provider = Provider::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let mut options = Oidc {
        issuer: provider.url().to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret_env: None,
        client_secret_file: Some(file),
        scopes: vec!["profile".to_owned(), "groups".to_owned()],
        groups_claim: "groups".to_owned(),
        roles: [
            ("sre".to_owned(), Role::Approver),
            ("dev".to_owned(), Role::Operator),
            ("admins".to_owned(), Role::Admin),
        ]
        .into(),
        default_role: None,
        label: "Sign in with Example".to_owned(),
    };
    change(&mut options);
    let server = Running::start(Wish::with(|config| config.server.oidc = Some(options))).await;
    Scene {
        server,
        provider,
        _folder: folder,
    }
}

/// What a query or a form says.
pub(crate) fn pairs(text: &str) -> HashMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| {
            let value = value.replace('+', " ");
            let value = percent_encoding::percent_decode_str(&value)
                .decode_utf8()
                .unwrap();
            (name.to_owned(), value.into_owned())
        })
        .collect()
}

fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, 303, "{}", reply.text);
    reply.headers["location"].to_str().unwrap()
}

/// The cookie of that name which an answer sets.
fn set_cookie(reply: &Reply, name: &str) -> Option<String> {
    reply
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|value| value.to_str().unwrap().split(';').next().unwrap().to_owned())
        .find(|cookie| {
            cookie
                .strip_prefix(name)
                .is_some_and(|rest| rest.len() > 1 && rest.starts_with('='))
        })
}

/// A browser that is at the provider: with its cookie, and what it came with.
async fn go(scene: &Scene, return_to: &str) -> (Caller, HashMap<String, String>) {
    let mut browser = scene.server.anybody();
    let reply = browser.get(&format!("/api/v1/auth/oidc/start{return_to}")).await;
    let cookie = set_cookie(&reply, "interlock_oidc").unwrap();
    let all = reply.headers["set-cookie"].to_str().unwrap();
    assert!(all.contains("HttpOnly") && all.contains("SameSite=Lax"), "{all}");
    browser.set("cookie", &cookie);
    let address = location(&reply).to_owned();
    assert!(address.starts_with(scene.provider.url()), "{address}");
    (browser, pairs(address.split_once('?').unwrap().1))
}

async fn come_back(browser: &Caller, code: &str, state: &str) -> Reply {
    let path = format!("/api/v1/auth/oidc/callback?code={code}&state={state}");
    browser.get(&path).await
}

/// The whole way.
async fn sign_in(scene: &Scene, claims: Value) -> Reply {
    scene.provider.person(claims);
    let (browser, parameters) = go(scene, "").await;
    let code = scene.provider.consent(&parameters);
    come_back(&browser, &code, &parameters["state"]).await
}

#[tokio::test]
async fn groups_become_roles_and_follow_the_provider() {
    let scene = scene(|_| {}).await;
    assert_eq!(
        scene.server.anybody().get("/api/v1/auth/options").await.json["oidc"],
        "Sign in with Example"
    );
    let zoe = |groups: Value| json!({ "sub": "1", "preferred_username": "zoe", "groups": groups });
    scene.provider.person(zoe(json!(["dev", "sre"])));
    let (browser, parameters) = go(&scene, "?return_to=/sessions%3Fstatus%3Dfailed").await;
    let code = scene.provider.consent(&parameters);
    let reply = come_back(&browser, &code, &parameters["state"]).await;
    assert_eq!(location(&reply), "/sessions?status=failed");
    let session = set_cookie(&reply, "interlock_session").unwrap();
    let first = scene.server.anybody().with("cookie", &session);
    let me = first.get("/api/v1/me").await;
    assert_eq!(me.json["user"]["id"], "zoe");
    assert_eq!(me.json["user"]["role"], "approver");
    assert_eq!(me.json["user"]["sign_in"], "oidc");
    // The provider takes a group away: the next sign-in takes the role away, also from what is signed in already.
    assert_eq!(location(&sign_in(&scene, zoe(json!(["dev"]))).await), "/");
    assert_eq!(first.get("/api/v1/me").await.json["user"]["role"], "operator");
    // No group is left.
    let reply = sign_in(&scene, zoe(json!([]))).await;
    assert_eq!(location(&reply), "/sign-in?error=FORBIDDEN");
    assert_eq!(set_cookie(&reply, "interlock_session"), None);
    // That ends what is signed in, and is in the record.
    assert_eq!(first.get("/api/v1/me").await.status, 401);
    let filter = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    let entries = scene.server.store.audit_entries(&filter).await.unwrap();
    let disabled = entries
        .iter()
        .filter(|entry| entry.deed.action == "user.changed" && entry.deed.details["enabled"] == false);
    assert_eq!(disabled.count(), 1);
    // An admin here has the last word.
    let id = UserId::new("zoe").unwrap();
    assert!(!scene.server.store.user(&id).await.unwrap().unwrap().enabled);
    let reply = sign_in(&scene, zoe(json!(["admins"]))).await;
    assert_eq!(location(&reply), "/sign-in?error=FORBIDDEN");
}

#[tokio::test]
async fn groups_that_the_token_does_not_list_are_asked_for() {
    let told = |groups: Value| json!({ "sub": "1", "preferred_username": "zoe", "groups": groups });
    let (approver, operator) = (Ok("approver"), Ok("operator"));
    let cases = [
        // The token, what the provider says when it is asked, and what that comes to.
        (json!({ "sub": "1" }), Some((200, told(json!(["sre"])))), approver),
        (
            json!({ "sub": "1", "groups": null }),
            Some((200, told(json!(["sre"])))),
            approver,
        ),
        // What is in the token is signed and counts, also if it is nothing.
        (told(json!(["dev"])), Some((200, told(json!(["sre"])))), operator),
        (
            told(json!([])),
            Some((200, told(json!(["sre"])))),
            Err("FORBIDDEN"),
        ),
        (json!({ "sub": "1" }), None, Err("FORBIDDEN")),
        (
            json!({ "sub": "1" }),
            Some((200, json!({ "sub": "1" }))),
            Err("FORBIDDEN"),
        ),
        // Somebody else's groups, and answers that are none.
        (
            json!({ "sub": "1" }),
            Some((200, json!({ "sub": "2", "groups": ["admins"] }))),
            Err("SIGN_IN_FAILED"),
        ),
        (
            json!({ "sub": "1" }),
            Some((500, json!({}))),
            Err("SIGN_IN_FAILED"),
        ),
        (
            json!({ "sub": "1" }),
            Some((200, json!([]))),
            Err("SIGN_IN_FAILED"),
        ),
    ];
    for (token, info, expected) in cases {
        let scene = scene(|_| {}).await;
        if let Some((status, claims)) = info.clone() {
            scene.provider.info(status, claims);
        }
        let reply = sign_in(&scene, token.clone()).await;
        let found = match set_cookie(&reply, "interlock_session") {
            None => Err(location(&reply).to_owned()),
            Some(session) => {
                let browser = scene.server.anybody().with("cookie", &session);
                let me = browser.get("/api/v1/me").await;
                assert_eq!(me.json["user"]["id"], "zoe", "{token} {info:?}");
                Ok(me.json["user"]["role"].as_str().unwrap().to_owned())
            }
        };
        let expected = match expected {
            Ok(role) => Ok(role.to_owned()),
            Err(code) => Err(format!("/sign-in?error={code}")),
        };
        assert_eq!(found, expected, "{token} {info:?}");
    }
}

/// Groups that stand deep in a claim are where the provider tells them whole; whoever is not told about keeps the account.
#[tokio::test]
async fn groups_are_taken_whole_and_what_is_not_told_takes_nothing_away() {
    let scene = scene(|options| options.groups_claim = "access.interlock.roles".to_owned()).await;
    let zoe = |access: Value| json!({ "sub": "1", "preferred_username": "zoe", "access": access });
    scene
        .provider
        .info(200, zoe(json!({ "interlock": { "roles": ["sre"] } })));
    let elsewhere = zoe(json!({ "account": { "roles": ["user"] } }));
    let reply = sign_in(&scene, elsewhere.clone()).await;
    assert_eq!(location(&reply), "/");
    scene.provider.info(200, elsewhere.clone());
    let reply = sign_in(&scene, elsewhere).await;
    assert_eq!(location(&reply), "/sign-in?error=FORBIDDEN");
    let id = UserId::new("zoe").unwrap();
    assert!(scene.server.store.user(&id).await.unwrap().unwrap().enabled);
}

#[tokio::test]
async fn nobody_is_asked_for_groups_that_mean_nothing() {
    let scene = scene(|options| {
        options.roles.clear();
        options.default_role = Some(Role::Viewer);
    })
    .await;
    scene.provider.info(500, json!({}));
    let reply = sign_in(&scene, json!({ "sub": "1", "preferred_username": "zoe" })).await;
    assert_eq!(location(&reply), "/");
}

#[tokio::test]
async fn nobody_loses_their_role_because_the_provider_does_not_answer() {
    let scene = scene(|_| {}).await;
    let groups = json!({ "sub": "1", "preferred_username": "zoe", "groups": ["sre"] });
    scene.provider.info(200, groups);
    let reply = sign_in(&scene, json!({ "sub": "1" })).await;
    let session = set_cookie(&reply, "interlock_session").unwrap();
    let zoe = scene.server.anybody().with("cookie", &session);
    scene.provider.info(503, json!({}));
    let reply = sign_in(&scene, json!({ "sub": "1" })).await;
    assert_eq!(location(&reply), "/sign-in?error=SIGN_IN_FAILED");
    assert_eq!(zoe.get("/api/v1/me").await.json["user"]["role"], "approver");
}

#[tokio::test]
async fn a_restart_in_between_means_to_start_again() {
    let first = scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    first
        .provider
        .person(json!({ "sub": "1", "preferred_username": "zoe" }));
    let (browser, parameters) = go(&first, "").await;
    let code = first.provider.consent(&parameters);
    // The browser was away; who it comes back to remembers nothing.
    let second = scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    let cookie = browser.headers["cookie"].to_str().unwrap();
    let browser = second.server.anybody().with("cookie", cookie);
    let reply = come_back(&browser, &code, &parameters["state"]).await;
    assert_eq!(location(&reply), "/sign-in?error=SIGN_IN_OVER");
    assert_eq!(set_cookie(&reply, "interlock_session"), None);
    let page = browser.get("/docs/errors/SIGN_IN_OVER").await;
    // A line of the page may end between the two words.
    let words: Vec<&str> = page.text.split_whitespace().collect();
    assert!(
        words.windows(2).any(|pair| pair == ["Start", "again"]),
        "{}",
        page.text
    );
    // And starting again works.
    let reply = sign_in(&second, json!({ "sub": "1", "preferred_username": "zoe" })).await;
    assert_eq!(location(&reply), "/");
}

#[tokio::test]
async fn an_odd_name_of_the_provider_becomes_a_plain_one() {
    let scene = scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    let _ = scene.server.admin().await;
    for (claims, expected) in [
        (
            json!({ "sub": "1", "preferred_username": "\u{430}dmin" }),
            "oidc-1",
        ),
        (json!({ "sub": "2", "preferred_username": "ADMIN" }), "oidc-2"),
        (
            json!({ "sub": "3", "preferred_username": "zoe\u{200b}" }),
            "oidc-3",
        ),
        (
            json!({ "sub": "4", "preferred_username": "Zo\u{eb}", "email": "zoe@example.org", "email_verified": true }),
            "zoe@example.org",
        ),
    ] {
        let reply = sign_in(&scene, claims.clone()).await;
        let session = set_cookie(&reply, "interlock_session").unwrap();
        let browser = scene.server.anybody().with("cookie", &session);
        let me = browser.get("/api/v1/me").await;
        assert_eq!(me.json["user"]["id"], expected, "{claims}");
    }
}

#[tokio::test]
async fn a_name_that_is_taken_stays_with_its_owner() {
    let scene = scene(|_| {}).await;
    let _ = scene.server.admin().await;
    let claims = json!({ "sub": "7", "preferred_username": "admin", "email": "eve@example.org", "email_verified": true,
        "groups": ["dev"] });
    let reply = sign_in(&scene, claims).await;
    let session = set_cookie(&reply, "interlock_session").unwrap();
    let me = scene
        .server
        .anybody()
        .with("cookie", &session)
        .get("/api/v1/me")
        .await;
    assert_eq!(me.json["user"]["id"], "eve@example.org");
    assert_eq!(me.json["user"]["role"], "operator");
    // An address that nobody verified is nobody's name.
    let claims =
        json!({ "sub": "8", "preferred_username": "admin", "email": "bob@example.org", "groups": ["dev"] });
    let reply = sign_in(&scene, claims).await;
    let session = set_cookie(&reply, "interlock_session").unwrap();
    let me = scene
        .server
        .anybody()
        .with("cookie", &session)
        .get("/api/v1/me")
        .await;
    assert_eq!(me.json["user"]["id"], "oidc-8");
    // Somebody of a provider has no password and no link.
    let admin = scene.server.admin().await;
    let link = admin.post("/api/v1/users/oidc-8/link", &json!({})).await;
    assert_eq!(link.short(), (409, "CONFLICT"));
}

#[tokio::test]
async fn a_token_that_is_not_right_signs_nobody_in() {
    let scene = scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    let claims = json!({ "sub": "1", "preferred_username": "zoe", "groups": [] });
    for lie in [
        Lie::Issuer,
        Lie::Audience,
        Lie::TwoAudiences,
        Lie::Nonce,
        Lie::NoNonce,
        Lie::Expired,
        Lie::Unsigned,
        Lie::Symmetric,
        Lie::OtherKey,
        Lie::Changed,
        Lie::Missing,
    ] {
        scene.provider.lie(lie);
        let reply = sign_in(&scene, claims.clone()).await;
        assert_eq!(location(&reply), "/sign-in?error=SIGN_IN_FAILED", "{lie:?}");
        assert_eq!(set_cookie(&reply, "interlock_session"), None, "{lie:?}");
    }
    assert_eq!(scene.server.store.users().await.unwrap(), []);
    let filter = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    let entries = scene.server.store.audit_entries(&filter).await.unwrap();
    assert_eq!(entries.len(), 11);
    assert!(entries.iter().all(|entry| entry.deed.action == "sign_in.failed"));
    // And the same without a lie.
    scene.provider.lie(Lie::No);
    assert_eq!(location(&sign_in(&scene, claims).await), "/");
}

#[tokio::test]
async fn who_comes_back_is_the_one_who_went_and_comes_once() {
    let scene = scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    scene
        .provider
        .person(json!({ "sub": "1", "preferred_username": "zoe" }));
    let refused = "/sign-in?error=SIGN_IN_FAILED";
    let unknown = "/sign-in?error=SIGN_IN_OVER";
    // A state that nobody has, and none at all.
    let (browser, parameters) = go(&scene, "").await;
    let code = scene.provider.consent(&parameters);
    assert_eq!(location(&come_back(&browser, &code, "invented").await), unknown);
    let bare = browser.get("/api/v1/auth/oidc/callback").await;
    assert_eq!(location(&bare), unknown);
    // Somebody else's browser, with a code and a state that were slipped to it.
    let (other, _) = go(&scene, "").await;
    assert_eq!(
        location(&come_back(&other, &code, &parameters["state"]).await),
        refused
    );
    // That used the state up, also for its owner.
    assert_eq!(
        location(&come_back(&browser, &code, &parameters["state"]).await),
        unknown
    );
    // Without the cookie.
    let (_, parameters) = go(&scene, "").await;
    let code = scene.provider.consent(&parameters);
    let reply = come_back(&scene.server.anybody(), &code, &parameters["state"]).await;
    assert_eq!(location(&reply), refused);
    // A code that was used before.
    let (browser, first) = go(&scene, "").await;
    let code = scene.provider.consent(&first);
    assert_eq!(location(&come_back(&browser, &code, &first["state"]).await), "/");
    assert_eq!(
        location(&come_back(&browser, &code, &first["state"]).await),
        unknown
    );
    let (browser, second) = go(&scene, "").await;
    assert_eq!(
        location(&come_back(&browser, &code, &second["state"]).await),
        refused
    );
    // A code that was made for somebody else's challenge.
    let (browser, third) = go(&scene, "").await;
    let mut stolen = third.clone();
    stolen.insert("code_challenge".to_owned(), first["code_challenge"].clone());
    let code = scene.provider.consent(&stolen);
    assert_eq!(
        location(&come_back(&browser, &code, &third["state"]).await),
        refused
    );
    // The provider says no.
    let (browser, parameters) = go(&scene, "").await;
    let path = format!(
        "/api/v1/auth/oidc/callback?error=access_denied&state={}",
        parameters["state"]
    );
    assert_eq!(location(&browser.get(&path).await), refused);
}

#[tokio::test]
async fn one_goes_nowhere_without_a_provider() {
    let server = Running::start(Wish::default()).await;
    for path in ["/api/v1/auth/oidc/start", "/api/v1/auth/oidc/callback"] {
        assert_eq!(server.anybody().get(path).await.short(), (404, "NOT_FOUND"));
    }
    // A provider that is away: the page says so, and nothing else breaks.
    let scene = scene(|oidc| oidc.issuer = "http://127.0.0.1:1".to_owned()).await;
    let reply = scene.server.anybody().get("/api/v1/auth/oidc/start").await;
    assert_eq!(location(&reply), "/sign-in?error=UNAVAILABLE");
    // A return to elsewhere is none.
    let scene = self::scene(|oidc| oidc.default_role = Some(Role::Viewer)).await;
    scene.provider.person(json!({ "sub": "1" }));
    let (browser, parameters) = go(&scene, "?return_to=https://evil.example/").await;
    let code = scene.provider.consent(&parameters);
    assert_eq!(
        location(&come_back(&browser, &code, &parameters["state"]).await),
        "/"
    );
}

#[tokio::test]
async fn who_never_went_is_throttled_and_fills_no_record() {
    let scene = scene(|_| {}).await;
    let browser = scene.server.anybody();
    let mut refused = 0;
    let throttled = loop {
        let reply = come_back(&browser, "code", "invented").await;
        if reply.status != 303 {
            break reply;
        }
        refused += 1;
        assert!(refused < 1000, "nobody is ever throttled");
    };
    assert!(refused > 0);
    assert_eq!(throttled.short(), (429, "RATE_LIMITED"));
    assert!(throttled.headers.contains_key("retry-after"));
    let filter = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    assert_eq!(scene.server.store.audit_entries(&filter).await.unwrap(), []);
}
