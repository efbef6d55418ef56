//! A small cluster, and a client that shows every byte of an answer.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_lab::cluster::{Cluster, Options};
use interlock_lab::machine::{File, Isolation, Machines, Spec, Wish};
use interlock_lab::proxmox::{self, Credentials};
use interlock_lab::topology::{Guest, GuestKind, Node, Storage, Topology};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) credentials: Credentials,
    pub(crate) server: proxmox::Server,
    machines: Arc<Machines>,
    _place: tempfile::TempDir,
}

fn file(path: &str, content: &str) -> File {
    File {
        path: PathBuf::from(path),
        content: content.as_bytes().to_vec(),
        mode: 0o644,
    }
}

fn spec(name: &str, last: u8) -> Spec {
    Spec {
        name: name.to_owned(),
        address: Some(Ipv4Addr::new(10, 77, 0, last)),
        disk_bytes: 64 << 20,
        files: vec![
            file("/etc/motd", &format!("this is {name}\n")),
            file(
                "/etc/systemd/system/smartd.service",
                "[Unit]\nDescription=Disk watcher\n[Service]\nExecStart=/bin/sleep infinity\n",
            ),
        ],
        ..Spec::default()
    }
}

fn guest(vmid: u32, kind: GuestKind, name: &str, running: bool) -> Guest {
    Guest {
        vmid,
        kind,
        name: name.to_owned(),
        node: "delly".to_owned(),
        cores: 2,
        memory_bytes: 1 << 30,
        running,
        tags: vec!["web".to_owned(), "prod".to_owned()],
        storage: "local-lvm".to_owned(),
        spec: spec(name, u8::try_from(vmid).unwrap()),
    }
}

fn topology() -> Topology {
    let node = |name: &str, last: u8| Node {
        name: name.to_owned(),
        cpus: 8,
        memory_bytes: 16 << 30,
        spec: spec(name, last),
    };
    let storage = |name: &str, kind: &str, shared: bool, content: &str| Storage {
        name: name.to_owned(),
        kind: kind.to_owned(),
        shared,
        content: content.to_owned(),
        total_bytes: 100 << 30,
        base_bytes: 1 << 30,
    };
    Topology {
        name: "lab".to_owned(),
        nodes: vec![node("delly", 1), node("minipc", 2), node("tower", 3)],
        guests: vec![
            guest(141, GuestKind::Lxc, "homepage", true),
            guest(142, GuestKind::Lxc, "wiki", false),
            guest(203, GuestKind::Vm, "database", true),
            guest(204, GuestKind::Vm, "spare", false),
        ],
        storages: vec![
            storage("local-lvm", "lvmthin", false, "rootdir,images"),
            storage("backup", "nfs", true, "backup"),
        ],
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let program = PathBuf::from(env!("CARGO_BIN_EXE_interlock-lab"));
        let machines = Machines::new(program, place.path().join("machines"), Wish::Best)
            .await
            .expect("machines");
        let machines = Arc::new(machines);
        let cluster = Cluster::start(machines.clone(), topology(), Options { speed: 20.0 })
            .await
            .expect("a cluster");
        let credentials = Credentials::generate();
        let server = proxmox::serve(cluster.clone(), credentials.clone(), 0)
            .await
            .expect("a server");
        Self {
            cluster,
            credentials,
            server,
            machines,
            _place: place,
        }
    }

    /// Whether its machines run every program there is. Without namespaces they run a few.
    pub(crate) fn runs_everything(&self) -> bool {
        match self.machines.isolation() {
            Isolation::Namespaces => true,
            Isolation::Folders { why } => {
                eprintln!("SKIPPED: there are no namespaces: {why}");
                false
            }
        }
    }

    /// Asks with the token that may do everything.
    pub(crate) async fn ask(&self, method: &str, path: &str, form: &str) -> Reply {
        let token = format!("Authorization: {}", self.credentials.authorization());
        self.ask_with(&[&token], method, path, form).await
    }

    pub(crate) async fn ask_with(&self, headers: &[&str], method: &str, path: &str, form: &str) -> Reply {
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let mut all = vec![kind];
        all.extend(headers);
        self.send(&all, method, &format!("/api2/json{path}"), form).await
    }

    pub(crate) async fn send(&self, headers: &[&str], method: &str, path: &str, body: &str) -> Reply {
        let mut stream = TcpStream::connect(self.server.address)
            .await
            .expect("a connection");
        let headers = headers.join("\r\n");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("an answer");
        Reply::parse(&String::from_utf8_lossy(&bytes))
    }

    /// What a read gives.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let reply = self.ask("GET", path, "").await;
        assert_eq!(reply.status, "200 OK", "{path}: {reply:?}");
        reply.body["data"].clone()
    }

    /// Does something and follows its task; how it ended.
    pub(crate) async fn task(&self, method: &str, path: &str, form: &str) -> String {
        let reply = self.ask(method, path, form).await;
        let upid = reply.body["data"]
            .as_str()
            .unwrap_or_else(|| panic!("{path}: {reply:?}"))
            .to_owned();
        self.follow(&upid).await
    }

    pub(crate) async fn follow(&self, upid: &str) -> String {
        let node = upid.split(':').nth(1).expect("a node").to_owned();
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.get(&format!("/nodes/{node}/tasks/{upid}/status")).await;
            if status["status"] == "stopped" {
                return status["exitstatus"].as_str().expect("an end").to_owned();
            }
            assert!(Instant::now() < deadline, "{upid} does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    /// `200 OK`
    pub(crate) status: String,
    pub(crate) body: Value,
}

impl Reply {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 "));
        Self {
            status: status.expect("a status").to_owned(),
            body: serde_json::from_str(body).unwrap_or(Value::Null),
        }
    }
}

/// A program of the system that a test needs.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may start somebody else's client"
)]
pub(crate) fn program(name: impl AsRef<Path>) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(name.as_ref());
    command.kill_on_drop(true);
    command
}

/// The user's cache, where what tests install is kept.
pub(crate) fn cache() -> Option<PathBuf> {
    std::env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
        .map(|cache| cache.join("interlock"))
}

/// A test could not be done here. Under `CI` it must be.
pub(crate) fn skipped(what: &str, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what}: {why}");
    eprintln!("SKIPPED: {what}: {why}");
}
