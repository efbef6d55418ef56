//! The client of Proxmox VE against a server that says what Proxmox says, and what it should not.

#[path = "support/raw.rs"]
mod raw;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlock_infra::options::{Proxmox as Settings, Tls};
use interlock_infra::proxmox::{Guest, GuestKind, Proxmox, TaskEnd};
use interlock_infra::{Error, Secrets, Source as _};
use interlock_protocol::RunState;
use raw::{Reply, data, said, serve};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "b1946ac9-2ad2-4c5e-9fdb-1c2d3e4f5a6b";
const UPID: &str = "UPID:delly:0001A2B3:00F1E2D3:6735A0C1:vzstart:141:root@pam:";

fn settings(url: &str) -> Settings {
    Settings {
        name: "home".to_owned(),
        url: url.to_owned(),
        token_id: Some("interlock@pve!agent".to_owned()),
        token_secret_env: Some("PVE_SECRET".to_owned()),
        user: None,
        password_env: None,
        tls: Tls::default(),
        ssh: None,
        ssh_addresses: std::collections::BTreeMap::new(),
    }
}

fn with_password(url: &str) -> Settings {
    Settings {
        token_id: None,
        token_secret_env: None,
        user: Some("root@pam".to_owned()),
        password_env: Some("PVE_SECRET".to_owned()),
        ..settings(url)
    }
}

fn client(settings: &Settings) -> Proxmox {
    Proxmox::new(settings, &Secrets::given([("PVE_SECRET", SECRET)])).unwrap()
}

fn jellyfin() -> Guest {
    Guest {
        kind: GuestKind::Lxc,
        node: "delly".to_owned(),
        vmid: 141,
    }
}

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
    let cases: [(&str, &str, fn(&Error) -> bool, &str); 9] = [
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
    let cases: [(&str, Box<dyn Fn() -> Reply + Send + Sync>, fn(&Error) -> bool); 7] = [
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

#[tokio::test]
async fn tasks_are_followed_to_their_end() {
    for (exit, expected) in [
        ("OK", TaskEnd::Done),
        ("WARNINGS: 2", TaskEnd::Warnings("WARNINGS: 2".to_owned())),
        (
            "command 'lxc-start' failed: exit code 1",
            TaskEnd::Failed("command 'lxc-start' failed: exit code 1".to_owned()),
        ),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let url = serve(move |asked| {
            assert!(
                asked.path.contains("/nodes/delly/tasks/UPID%3Adelly%3A"),
                "{}",
                asked.path
            );
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => data(r#"{"status":"running","type":"vzstart"}"#),
                // A node that is away for a moment does not end a task.
                1 => said("595 Connection refused", ""),
                _ => data(&json!({"status": "stopped", "exitstatus": exit}).to_string()),
            }
        })
        .await;
        let end = client(&settings(&url))
            .wait_task(
                &UPID.parse().unwrap(),
                Duration::from_secs(20),
                &CancellationToken::new(),
            )
            .await;
        assert_eq!(end, Ok(expected));
    }
}

#[tokio::test]
async fn a_task_that_does_not_end_is_given_up_and_cancelled() {
    let url = serve(|_| data(r#"{"status":"running"}"#)).await;
    let client = client(&settings(&url));
    let upid = UPID.parse().unwrap();
    let within = Duration::from_millis(300);
    let late = client.wait_task(&upid, within, &CancellationToken::new()).await;
    assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
    let silent = serve(|_| Reply::Never).await;
    let late = self::client(&settings(&silent))
        .wait_task(&upid, within, &CancellationToken::new())
        .await;
    assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cancelled = client.wait_task(&upid, Duration::from_secs(20), &cancel).await;
    assert_eq!(cancelled, Err(Error::Cancelled));
}

#[tokio::test]
async fn a_guest_is_read_with_numbers_as_texts_and_fields_left_out() {
    let cases = [
        (
            r#"{"status":"running","uptime":"3600","vmid":"141"}"#,
            RunState::Running,
            true,
        ),
        (r#"{"status":"running","uptime":0}"#, RunState::Running, true),
        (r#"{"status":"stopped","uptime":0}"#, RunState::Stopped, false),
        (
            r#"{"status":"running","qmpstatus":"paused","uptime":5}"#,
            RunState::Paused,
            true,
        ),
        (
            r#"{"status":"running","lock":"migrate","uptime":5}"#,
            RunState::Migrating,
            true,
        ),
        (r#"{"status":"running"}"#, RunState::Running, false),
        (r#"{"status":"unknown","uptime":0}"#, RunState::Unknown, false),
        ("{}", RunState::Unknown, false),
        ("null", RunState::Unknown, false),
    ];
    for (body, state, started) in cases {
        let url = serve(move |_| data(body)).await;
        let status = client(&settings(&url)).guest_status(&jellyfin()).await.unwrap();
        assert_eq!(
            (status.state, status.started_at.is_some()),
            (state, started),
            "{body}"
        );
    }
}

const RESOURCES: &str = r#"[
 {"id":"node/delly","type":"node","node":"delly","status":"online","cpu":0.0312,"maxcpu":8,"mem":"8589934592","maxmem":34359738368,"uptime":86400},
 {"id":"node/minipc","type":"node","node":"minipc","status":"offline"},
 {"id":"lxc/141","type":"lxc","vmid":"141","node":"delly","name":"jellyfin.lan","status":"running","cpu":0.5,"maxcpu":2,"mem":1,"maxmem":2,"tags":"media;prod","uptime":100},
 {"id":"qemu/203","type":"qemu","vmid":203,"node":"minipc","name":"homeassistant","status":"unknown","template":0},
 {"id":"qemu/900","type":"qemu","vmid":900,"node":"delly","status":"stopped","template":1},
 {"id":"storage/delly/local-lvm","type":"storage","storage":"local-lvm","node":"delly","status":"available","plugintype":"lvmthin","content":"rootdir,images","disk":1,"maxdisk":2,"shared":0},
 {"id":"storage/delly/nas","type":"storage","storage":"nas","node":"delly","status":"available","shared":1},
 {"id":"storage/minipc/nas","type":"storage","storage":"nas","node":"minipc","status":"unknown","shared":"1"},
 {"id":"sdn/delly/localnetwork","type":"sdn","sdn":"localnetwork","node":"delly","status":"ok"},
 {"type":"lxc","vmid":"not a number","node":"delly"}, {"type":"lxc"}, "rubbish", null
]"#;
const STATUS: &str = r#"[
 {"type":"cluster","id":"cluster","name":"home","nodes":2,"quorate":1,"version":4},
 {"type":"node","id":"node/delly","name":"delly","ip":"192.0.2.10","online":1,"local":1},
 {"type":"node","id":"node/minipc","name":"minipc","ip":"192.0.2.11","online":0}
]"#;

fn cluster(path: &str) -> Reply {
    match path {
        "/api2/json/cluster/resources" => data(RESOURCES),
        "/api2/json/cluster/status" => data(STATUS),
        "/api2/json/nodes/delly/lxc/141/interfaces" => data(
            r#"[{"name":"lo","inet":"127.0.0.1/8"},{"name":"eth0","inet":"192.0.2.141/24","inet6":"fe80::1/64"}]"#,
        ),
        _ => said("500 not here", "{\"data\":null}"),
    }
}

#[tokio::test]
async fn a_cluster_becomes_resources() {
    let url = serve(|asked| cluster(&asked.path)).await;
    let found = client(&settings(&url)).discover().await.unwrap();
    insta::assert_json_snapshot!(found);
}

#[tokio::test]
async fn a_list_of_resources_that_is_none_is_an_error() {
    for body in ["null", "{}", "\"x\""] {
        let url = serve(move |_| data(body)).await;
        let error = client(&settings(&url)).discover().await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{body}: {error}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused_and_say_what_to_change() {
    let good = settings("https://delly.lan:8006");
    let cases: [(Settings, &str); 6] = [
        (
            Settings {
                token_id: None,
                ..good.clone()
            },
            "token_id",
        ),
        (
            Settings {
                user: Some("root@pam".to_owned()),
                ..good.clone()
            },
            "either",
        ),
        (
            Settings {
                token_id: Some("root".to_owned()),
                ..good.clone()
            },
            "user@realm!name",
        ),
        (
            Settings {
                token_secret_env: Some("PVE_NOT_SET".to_owned()),
                ..good.clone()
            },
            "PVE_NOT_SET",
        ),
        (
            Settings {
                tls: Tls {
                    fingerprint: Some("AB:CD".to_owned()),
                    ca_file: None,
                },
                ..good.clone()
            },
            "fingerprint",
        ),
        (
            Settings {
                tls: Tls {
                    ca_file: Some("/no/such/file".into()),
                    fingerprint: None,
                },
                ..good
            },
            "/no/such/file",
        ),
    ];
    for (settings, part) in cases {
        let error = Proxmox::new(&settings, &Secrets::given([("PVE_SECRET", SECRET)])).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
}
