//! TLS: a provider behind a certificate authority of its own.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use interlock_model::{Kind, Options};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use support::{DONE, client, ignore, options, question, said};
use tokio_util::sync::CancellationToken;

/// A server that answers every request with the same reply.
fn serve() -> String {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(include_bytes!("tls/server.der").to_vec())],
            PrivateKeyDer::from(PrivatePkcs8KeyDer::from(
                include_bytes!("tls/server.key.der").to_vec(),
            )),
        )
        .expect("a certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut connection = ServerConnection::new(config.clone()).expect("a connection");
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let mut request = [0; 16384];
            if tls.read(&mut request).is_ok_and(|read| read > 0) {
                let body = said("Hi") + DONE;
                let _ = write!(
                    tls,
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = tls.flush();
            }
        }
    });
    url
}

async fn ask(options: &Options) -> Result<String, interlock_model::Failure> {
    client(options)
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
        .map(|completion| completion.reply.text)
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_where_it_is_named() {
    let url = serve();
    let mut options = options(&url);
    options.retries.attempts = 1;
    options.ca_file = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/ca.pem").into());
    assert_eq!(ask(&options).await.expect("a reply"), "Hi");
}

#[tokio::test]
async fn an_authority_that_nobody_named_is_not_trusted() {
    let url = serve();
    let mut options = options(&url);
    options.retries.attempts = 1;
    let failure = ask(&options).await.expect_err("no trust");
    assert_eq!(failure.kind, Kind::Transport);
    assert!(failure.message.contains("certificate"), "{failure}");
}

#[test]
fn a_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ca.pem");
    let mut options = options("https://127.0.0.1:1");
    options.ca_file = Some(path.clone());
    let none = interlock_model::Secrets::given([("", ""); 0]);
    for content in [
        None,
        Some("no certificate at all\n"),
        Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ] {
        if let Some(content) = content {
            std::fs::write(&path, content).expect("a file");
        }
        let error = interlock_model::Client::new("main", &options, &none).expect_err("not a certificate");
        assert!(error.to_string().contains("ca.pem"), "{error}");
    }
}
