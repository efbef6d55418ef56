//! Who may watch, and that nobody goes on watching who may not.

use interlock_store::UserChange;
use jiff::Timestamp;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, http::StatusCode};

use crate::site::{Client, Site};

fn status(result: Result<Client, Error>) -> StatusCode {
    match result {
        Err(Error::Http(response)) => response.status(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => StatusCode::SWITCHING_PROTOCOLS,
    }
}

#[tokio::test]
async fn nobody_watches_who_is_not_known_or_comes_from_another_page() {
    let site = Site::start().await;
    let (_, cookie) = site.sign_in("viewer").await;
    let own = format!("http://{}", site.address);
    let bearer = format!("Bearer {}", site.token);
    let operator = site.new_token("tok_operate", "viewer", "operate").await;
    let operator = format!("Bearer {operator}");
    let wrong = format!("Bearer ilk_{}", "0".repeat(64));
    let cases: Vec<(&str, Vec<(&str, &str)>, u16)> = vec![
        ("nobody", vec![], 401),
        ("nobody from our page", vec![("origin", &own)], 401),
        ("a wrong token", vec![("authorization", &wrong)], 401),
        (
            "a token that may not read",
            vec![("authorization", &operator)],
            403,
        ),
        ("a token", vec![("authorization", &bearer)], 101),
        (
            "a token from another page",
            vec![("authorization", &bearer), ("origin", "https://evil.example")],
            421,
        ),
        (
            "a cookie from our page",
            vec![("cookie", &cookie), ("origin", &own)],
            101,
        ),
        ("a cookie from no page", vec![("cookie", &cookie)], 421),
        (
            "a cookie from another page",
            vec![("cookie", &cookie), ("origin", "https://evil.example")],
            421,
        ),
        (
            "a cookie from nowhere",
            vec![("cookie", &cookie), ("origin", "null")],
            421,
        ),
    ];
    for (name, headers, expected) in cases {
        let answer = status(site.connect_with(&headers).await);
        assert_eq!(answer.as_u16(), expected, "{name}");
    }
}

#[tokio::test]
async fn a_revoked_token_ends_its_connections() {
    let site = Site::start().await;
    let mut client = site.connect().await;
    client.subscribe("sessions", None).await;
    site.store
        .revoke_token("tok_viewer", None, Timestamp::now())
        .await
        .unwrap();
    assert_eq!(client.closed().await, 4401);
}

#[tokio::test]
async fn a_user_who_may_not_sign_in_any_more_is_gone() {
    let site = Site::start().await;
    let mut client = site.connect().await;
    let change = UserChange {
        enabled: Some(false),
        ..UserChange::default()
    };
    site.store
        .change_user(&"viewer".parse().unwrap(), change)
        .await
        .unwrap();
    assert_eq!(client.closed().await, 4401);
}

#[tokio::test]
async fn signing_out_ends_that_browser_alone() {
    let site = Site::start().await;
    let (login, cookie) = site.sign_in("viewer").await;
    let own = format!("http://{}", site.address);
    let mut browser = site
        .connect_with(&[("cookie", &cookie), ("origin", &own)])
        .await
        .unwrap();
    let mut program = site.connect().await;
    site.store.remove_login(&login).await.unwrap();
    assert_eq!(browser.next().await["user"], "viewer");
    assert_eq!(browser.closed().await, 4401);
    program.say(serde_json::json!({ "action": "ping" })).await;
    assert_eq!(program.next().await["type"], "pong");
}

#[tokio::test]
async fn what_was_deleted_is_not_there() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let channel = format!("session:{session}");
    let mut client = site.connect().await;
    client.subscribe(&channel, None).await;
    client
        .say(json!({ "action": "unsubscribe", "channel": channel }))
        .await;
    assert_eq!(client.next().await["type"], "subscription.ended");
    let now = Timestamp::now();
    site.store.request_cancel(&session, None, now).await.unwrap();
    site.store.soft_delete(&session, now).await.unwrap();
    for action in ["subscribe", "catchup"] {
        client
            .say(json!({ "action": action, "channel": channel, "after": 0 }))
            .await;
        let answer = client.next().await;
        assert_eq!(answer["type"], "subscription.error", "{action}");
        assert_eq!(answer["code"], "NOT_FOUND", "{action}");
    }
    let stream = format!("http://{}/api/v1/sessions/{session}/stream", site.address);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let reply = reqwest::Client::new()
        .get(stream)
        .bearer_auth(&site.token)
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status().as_u16(), 404);
}
