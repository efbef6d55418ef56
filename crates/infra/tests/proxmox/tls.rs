//! How a server is known by its certificate.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use interlock_infra::Error;
use interlock_infra::options::{Proxmox as Settings, Tls};
use interlock_protocol::ContentHash;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::{client, settings};

fn certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
}

/// A server with this certificate, until the test ends.
fn serve(own: &CertifiedKey<KeyPair>) -> String {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = Stream::new(&mut connection, &mut socket);
            let mut request = [0; 4096];
            // Whoever does not take the certificate says no more.
            if stream.read(&mut request).is_ok_and(|count| count > 0) {
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
                let _ = stream.write_all(answer.as_bytes());
                connection.send_close_notify();
                let _ = connection.write_tls(&mut socket);
            }
        }
    });
    format!("https://localhost:{port}")
}

fn fingerprint(own: &CertifiedKey<KeyPair>) -> String {
    let digits = ContentHash::of(own.cert.der()).to_string().to_uppercase();
    let pairs: Vec<&str> = (0..32).map(|at| &digits[at * 2..at * 2 + 2]).collect();
    pairs.join(":")
}

#[tokio::test]
async fn a_server_is_known_by_its_fingerprint_or_by_its_authority_and_else_not_at_all() {
    let (own, other) = (certificate(), certificate());
    let url = serve(&own);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, own: &CertifiedKey<KeyPair>| {
        let path = folder.path().join(name);
        std::fs::write(&path, own.cert.pem()).unwrap();
        Some(path)
    };
    let pinned = |own| Tls {
        fingerprint: Some(fingerprint(own)),
        ca_file: None,
    };
    let signed = |path| Tls {
        fingerprint: None,
        ca_file: path,
    };
    for (name, tls, good) in [
        ("its fingerprint", pinned(&own), true),
        ("another fingerprint", pinned(&other), false),
        ("its authority", signed(file("own", &own)), true),
        ("another authority", signed(file("other", &other)), false),
        ("the authorities of the system", Tls::default(), false),
    ] {
        let settings = Settings {
            tls,
            ..settings(&url)
        };
        let got = client(&settings).nodes().await;
        assert_eq!(got.is_ok(), good, "{name}: {got:?}");
        if let Err(error) = got {
            assert!(matches!(error, Error::Unreachable { .. }), "{name}: {error}");
        }
    }
    let wrong = Settings {
        tls: pinned(&other),
        ..settings(&url)
    };
    let error = client(&wrong).nodes().await.unwrap_err().to_string();
    assert!(error.contains(&fingerprint(&own)), "{error}");
}
