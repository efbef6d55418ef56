//! How many streams one login or token may have open.

use interlock_server::install_metrics;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;

use crate::site::{Client, PATIENCE, Site};
use crate::sse::Stream;

/// The status and the code of the answer to a request for a WebSocket.
fn answer(result: &Result<Client, Error>) -> (u16, String) {
    match result {
        Ok(_) => (101, String::new()),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let problem: Value = serde_json::from_slice(body).unwrap_or_default();
            let code = problem["code"].as_str().unwrap_or_default().to_owned();
            (response.status().as_u16(), code)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_token_has_so_many_streams_of_both_kinds_and_gets_them_back() {
    let metrics = install_metrics();
    let site = Site::start_with(metrics.clone(), |config| config.server.limits.streams = 2).await;
    let bearer = format!("Bearer {}", site.token);
    let headers = [("authorization", bearer.as_str())];
    let first = site.connect_with(&headers).await;
    assert_eq!(answer(&first).0, 101);
    let second = Stream::get(&site, "/api/v1/stream", &headers).await;
    assert_eq!(second.status, 200);
    let refused = (429, "TOO_MANY_STREAMS".to_owned());
    assert_eq!(answer(&site.connect_with(&headers).await), refused);
    let third = Stream::get(&site, "/api/v1/stream", &headers).await;
    assert_eq!(third.status, 429, "{}", third.head);
    assert!(third.head.contains("retry-after: "), "{}", third.head);
    for kind in ["ws", "sse"] {
        let line = format!("interlock_streams_refused_total{{kind=\"{kind}\"}} 1");
        assert!(metrics.render().contains(&line), "{}", metrics.render());
    }
    // What is no stream is answered; and another token, and a browser of the same user, have their own.
    let other = format!("Bearer {}", site.new_token("tok_other", "viewer", "read").await);
    assert_eq!(
        answer(&site.connect_with(&[("authorization", &other)]).await).0,
        101
    );
    let (_, cookie) = site.sign_in("viewer").await;
    let own = format!("http://{}", site.address);
    let browser = [("cookie", cookie.as_str()), ("origin", own.as_str())];
    assert_eq!(answer(&site.connect_with(&browser).await).0, 101);
    drop(first);
    let again = async {
        while answer(&site.connect_with(&headers).await).0 != 101 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, again).await.expect("what is closed comes free");
}
