//! Tasks, guests and the cluster as resources.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlock_infra::options::{Proxmox as Settings, Tls};
use interlock_infra::proxmox::{Proxmox, TaskEnd};
use interlock_infra::{Error, Secrets, Source as _};
use interlock_protocol::RunState;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::raw::{Reply, data, said, serve};
use crate::{SECRET, client, jellyfin, settings};

const UPID: &str = "UPID:delly:0001A2B3:00F1E2D3:6735A0C1:vzstart:141:root@pam:";

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
    let late = crate::client(&settings(&silent))
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
    // The port is another one each time.
    let text = serde_json::to_string(&found)
        .unwrap()
        .replace(&url, "http://proxmox.test");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
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
