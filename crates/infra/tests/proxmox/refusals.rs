//! Signing in, refusals, and answers that are none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_infra::Error;
use interlock_infra::proxmox::Change;

use crate::raw::{Reply, data, said, serve};
use crate::stage::reading;
use crate::{SECRET, client, jellyfin, settings, with_password};

type Check = fn(&Error) -> bool;
type Make = Box<dyn Fn() -> Reply + Send + Sync>;

#[tokio::test]
async fn a_token_signs_in_every_request() {
    let url = serve(|asked| {
        assert_eq!(
            (asked.method.as_str(), asked.path.as_str()),
            ("GET", "/api2/json/nodes")
        );
        let expected = format!("PVEAPIToken=interlock@pve!agent={SECRET}");
        if asked.header("authorization") != Some(expected.as_str()) {
            return said("401 No ticket", "{\"data\":null}");
        }
        data(r#"[{"node":"delly","status":"online","cpu":0.03,"maxcpu":8}]"#)
    })
    .await;
    let nodes = client(&settings(&url)).nodes().await.unwrap();
    assert_eq!(nodes[0]["node"], "delly");
}

#[tokio::test]
async fn a_plan_that_only_reads_changes_nothing() {
    let url = serve(|asked| panic!("{} {} was asked", asked.method, asked.path)).await;
    let proxmox = client(&settings(&url));
    for (resource, change) in [
        ("lxc:delly:141", Change::Stop),
        ("lxc:delly:141", Change::Delete),
        ("node:delly", Change::Reboot),
    ] {
        let refused = proxmox.change(&reading(resource), change).await;
        assert!(
            matches!(refused, Err(Error::Unsupported(_))),
            "{resource}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_ticket_is_had_once_and_anew_when_it_is_refused() {
    let logins = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&logins);
    let url = serve(move |asked| {
        if asked.path == "/api2/json/access/ticket" {
            assert_eq!(asked.body, format!("username=root%40pam&password={SECRET}"));
            let number = count.fetch_add(1, Ordering::SeqCst);
            return data(&format!(
                r#"{{"ticket":"PVE:root@pam:{number}","CSRFPreventionToken":"6735:{number}","username":"root@pam"}}"#
            ));
        }
        // The first ticket is taken twice and then runs out.
        match asked.header("cookie") {
            Some("PVEAuthCookie=PVE:root@pam:1") => data("[]"),
            Some("PVEAuthCookie=PVE:root@pam:0") if asked.path.ends_with("/nodes") => data("[]"),
            _ => said("401 permission denied - invalid PVE ticket", "{\"data\":null}"),
        }
    })
    .await;
    let client = client(&with_password(&url));
    let (one, other) = tokio::join!(client.nodes(), client.nodes());
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    client.storages("delly").await.unwrap();
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_password_that_is_refused_is_not_tried_for_ever() {
    let logins = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&logins);
    let url = serve(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        said("401 authentication failure", "{\"data\":null}")
    })
    .await;
    let error = client(&with_password(&url)).nodes().await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    assert!(!error.to_string().contains(SECRET));
}

#[tokio::test]
async fn refusals_have_their_own_errors_and_say_what_proxmox_said() {
    let cases: [(&str, &str, Check, &str); 9] = [
        (
            "401 No ticket",
            "{\"data\":null}",
            |error| matches!(error, Error::Unauthorized { .. }),
            "No ticket",
        ),
        (
            "403 Permission check failed (/vms/141, VM.PowerMgmt)",
            "{\"data\":null}",
            |error| matches!(error, Error::Forbidden { .. }),
            "VM.PowerMgmt",
        ),
        (
            "500 Configuration file 'nodes/delly/lxc/999.conf' does not exist",
            "{\"data\":null}",
            |error| matches!(error, Error::NotFound { .. }),
            "999.conf",
        ),
        (
            "500 Internal Server Error",
            "{\"data\":null,\"message\":\"CT 141 already running\\n\"}",
            |error| {
                matches!(
                    error,
                    Error::Refused {
                        status: Some(500),
                        ..
                    }
                )
            },
            "CT 141 already running",
        ),
        (
            "400 Parameter verification failed.",
            "{\"data\":null,\"errors\":{\"vmid\":\"type check ('integer') failed - got 'x'\"}}",
            |error| {
                matches!(
                    error,
                    Error::Refused {
                        status: Some(400),
                        ..
                    }
                )
            },
            "`vmid`: type check",
        ),
        (
            "595 No route to host",
            "",
            |error| matches!(error, Error::Unreachable { .. }),
            "No route to host",
        ),
        (
            "596 Broken pipe",
            "",
            |error| matches!(error, Error::Unreachable { .. }),
            "596",
        ),
        (
            "599 Too many redirections",
            "",
            |error| matches!(error, Error::Unreachable { .. }),
            "599",
        ),
        (
            "501 Method 'GET /nodes/delly/lxc' not implemented",
            "<html><body>501</body></html>",
            |error| {
                matches!(
                    error,
                    Error::Refused {
                        status: Some(501),
                        ..
                    }
                )
            },
            "not implemented",
        ),
    ];
    for (status, body, is_it, part) in cases {
        let url = serve(move |_| said(status, body)).await;
        let error = client(&settings(&url))
            .guest_status(&jellyfin())
            .await
            .unwrap_err();
        assert!(is_it(&error), "{status}: {error:?}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_answer_of_proxmox_is_an_error() {
    let huge = || {
        let mut bytes = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"data\":\"".to_vec();
        bytes.resize(17 * 1024 * 1024, b'x');
        Reply::Bytes(bytes)
    };
    let cases: [(&str, Make, Check); 7] = [
        (
            "a page",
            Box::new(|| said("200 OK", "<html>please sign in</html>")),
            |error| matches!(error, Error::Protocol { .. }),
        ),
        ("a list", Box::new(|| said("200 OK", "[]")), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (
            "half of it",
            Box::new(|| said("200 OK", "{\"data\":[{\"node\":\"del")),
            |error| matches!(error, Error::Protocol { .. }),
        ),
        ("no body", Box::new(|| said("200 OK", "")), |error| {
            matches!(error, Error::Protocol { .. })
        }),
        (
            "less than it promised",
            Box::new(|| Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec())),
            |error| matches!(error, Error::Unreachable { .. }),
        ),
        ("too much", Box::new(huge), |error| {
            matches!(error, Error::TooLarge { .. })
        }),
        (
            "another place",
            Box::new(|| {
                Reply::Bytes(
                    b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
                        .to_vec(),
                )
            }),
            |error| {
                matches!(
                    error,
                    Error::Refused {
                        status: Some(302),
                        ..
                    }
                )
            },
        ),
    ];
    for (name, reply, is_it) in cases {
        let url = serve(move |_| reply()).await;
        let error = client(&settings(&url)).nodes().await.unwrap_err();
        assert!(is_it(&error), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn nobody_who_listens_is_unreachable() {
    let error = client(&settings("http://127.0.0.1:1")).nodes().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}
