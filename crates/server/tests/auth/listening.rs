//! Where it listens, with TLS, and how it stops.

use std::time::Duration;

use interlock_config::Tls;
use interlock_server::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Running, Wish};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_others_can_reach_is_not_served_in_the_open() {
    for (listen, public_url, proxies, fine) in [
        ("127.0.0.1:0", None, &[][..], true),
        ("127.0.0.5:0", None, &[], true),
        ("0.0.0.0:0", None, &[], false),
        ("[::]:0", None, &[], false),
        ("0.0.0.0:0", Some("https://interlock.example"), &[], false),
        ("0.0.0.0:0", None, &["10.0.0.0/8"], false),
        (
            "0.0.0.0:0",
            Some("https://interlock.example"),
            &["10.0.0.0/8"],
            true,
        ),
    ] {
        let wish = Wish::with(|config| {
            config.server.listen = listen.parse().unwrap();
            config.server.public_url = public_url.map(str::to_owned);
            config.server.trusted_proxies = proxies.iter().map(|&text: &&str| text.to_owned()).collect();
        });
        match Running::try_start(wish).await {
            Ok(server) => {
                assert!(fine, "{listen} {public_url:?} {proxies:?}");
                server.serving.stop().await;
            }
            Err(error) => {
                assert!(!fine, "{listen}: {error}");
                assert!(matches!(error, Error::InTheOpen { .. }), "{error}");
                assert!(error.to_string().contains("server.tls"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn an_address_that_is_taken_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let wish = Wish::with(|config| config.server.listen = address);
    let error = Running::try_start(wish).await.err().unwrap();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    assert!(error.to_string().contains("server.listen"), "{error}");
}

#[tokio::test]
async fn tls_works_and_cookies_are_for_tls_only() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let tls = Tls {
        certificate: folder.path().join("cert.pem"),
        key: folder.path().join("key.pem"),
    };
    std::fs::write(&tls.certificate, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    let server = Running::start(Wish::with(|config| config.server.tls = Some(tls.clone()))).await;
    let port = server.serving.address.port();
    assert_eq!(server.serving.url(), format!("https://127.0.0.1:{port}"));
    let url = format!("https://localhost:{port}");
    let _ = rustls::crypto::ring::default_provider().install_default();
    for http2 in [false, true] {
        let root = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
        let mut client = reqwest::Client::builder().no_proxy().tls_certs_only([root]);
        if !http2 {
            client = client.http1_only();
        }
        let mut caller = crate::support::Caller::new(&url).over(client.build().unwrap());
        let (_, link) = interlock_server::sign_in_link(&server.store, None).await.unwrap();
        caller.set("origin", &url);
        let reply = caller.link(&link).await;
        let cookie = reply.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.ends_with("; Secure"), "{cookie}");
        let me = caller.get("/api/v1/me").await;
        assert_eq!(me.status, 200);
        assert!(me.headers.contains_key("strict-transport-security"));
    }
    // Plain HTTP on that port gets no answer.
    let mut stream = TcpStream::connect(server.serving.address).await.unwrap();
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut said = Vec::new();
    tokio::time::timeout(LONG, stream.read_to_end(&mut said))
        .await
        .unwrap()
        .ok();
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    // A key of another certificate, and no file at all.
    let other = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).unwrap();
    std::fs::write(&tls.key, other.signing_key.serialize_pem()).unwrap();
    for key in [
        tls.key.clone(),
        folder.path().join("none.pem"),
        tls.certificate.clone(),
    ] {
        let tls = Tls { key, ..tls.clone() };
        let wish = Wish::with(|config| config.server.tls = Some(tls));
        let error = Running::try_start(wish).await.err().unwrap();
        assert!(matches!(error, Error::Tls { .. }), "{error}");
    }
}

#[tokio::test]
async fn stopping_takes_no_new_connections_and_lets_a_request_finish() {
    let server = Running::start(Wish::default()).await;
    let address = server.serving.address;
    let admin = server.admin().await;
    let (body, cookie) = ("{\"name\":\"late\",\"query\":\"\"}", admin.cookie());
    let csrf = admin.headers["x-csrf-token"].to_str().unwrap();
    let head = format!(
        "POST /api/v1/me/views HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nx-csrf-token: {csrf}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body: the handler has the request.
    let mut said = [0; 25];
    stream.read_exact(&mut said).await.unwrap();
    assert!(said.starts_with(b"HTTP/1.1 100"), "{said:?}");
    let mut idle = TcpStream::connect(address).await.unwrap();
    let stopping = tokio::spawn(server.serving.stop());
    // New connections are refused as soon as the listener is gone.
    tokio::time::timeout(LONG, async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the listener goes away");
    assert!(!stopping.is_finished(), "a request is being answered");
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(LONG, stream.read_to_string(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(answer.contains("HTTP/1.1 201 Created"), "{answer}");
    tokio::time::timeout(LONG, stopping).await.unwrap().unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(LONG, idle.read_to_end(&mut rest))
        .await
        .unwrap()
        .ok();
    assert_eq!(rest, b"");
}
