//! A small cluster over real wires: Proxmox's API, and an SSH server that really runs what it is told.

#[path = "../../../infra/tests/support/raw.rs"]
#[expect(dead_code, reason = "the tests of the client use more of it")]
mod raw;
#[path = "../../../infra/src/ssh/test_server.rs"]
mod ssh_server;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interlock_executor::{Inventories, Toolbox};
use interlock_infra::options::{Options as Connections, Proxmox, Ssh, Tls};
use interlock_infra::{Infra, Secrets, Source};
use interlock_protocol::Verification;
use raw::{Asked, Reply, data, said};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::{Fleet, Options};

const SECRET: &str = "7f3c1f0e-token-secret";
const UPID: &str = "UPID:delly:0001A2B3:00F1E2D3:6735A0C1:task:141:root@pam:";

/// What `pct exec 141 -- …` does: the guest is the machine itself.
const PCT: &str = "#!/bin/sh\n[ \"$1\" = exec ] || exit 2\nshift 2\n[ \"$1\" = -- ] && shift\nexec \"$@\"\n";

pub(super) struct World {
    pub(super) stage: Stage,
    pub(super) inventory: Inventories,
    pub(super) cluster: Arc<Mutex<Cluster>>,
    pub(super) ssh: Arc<ssh_server::Seen>,
    folder: tempfile::TempDir,
}

/// What the API knows.
#[derive(Default)]
pub(super) struct Cluster {
    pub(super) guests: BTreeMap<u32, Guest>,
    /// How the next task ends.
    pub(super) task: Option<&'static str>,
    pub(super) asked: Vec<String>,
    /// Whether it answers at all.
    pub(super) down: bool,
}

pub(super) struct Guest {
    pub(super) kind: &'static str,
    pub(super) node: &'static str,
    pub(super) name: &'static str,
    pub(super) since: Option<Instant>,
}

/// Whether nodes can be entered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shell {
    Known,
    Unknown,
    None,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(Shell::Known).await
    }

    pub(super) async fn with(shell: Shell) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(folder.path().join("guest")).unwrap();
        program(&bin, "pct", PCT);
        program(&bin, "systemctl", &systemctl(folder.path()));
        // What this system offers must not decide what is tested: there is no sandbox. The lab has tests with real ones.
        for sandbox in ["systemd-run", "bwrap", "unshare"] {
            program(&bin, sandbox, "#!/bin/sh\nexit 1\n");
        }
        fs::write(folder.path().join("active"), "active").unwrap();
        fs::write(folder.path().join("since"), "Sun 2026-11-15 05:28:26.123456 UTC").unwrap();
        let server = ssh_server::start(Some(&bin), None).await;
        let known = match shell {
            Shell::Known => server.known(),
            Shell::Unknown | Shell::None => String::new(),
        };
        fs::write(folder.path().join("known_hosts"), known).unwrap();
        let cluster = Arc::new(Mutex::new(Cluster::home()));
        let answers = Arc::clone(&cluster);
        let url = raw::serve(move |asked| answers.lock().unwrap().answer(asked)).await;
        let connections = Connections {
            proxmox: vec![Proxmox {
                name: "home".to_owned(),
                url,
                token_id: Some("interlock@pve!agent".to_owned()),
                token_secret_env: Some("PVE_SECRET".to_owned()),
                user: None,
                password_env: None,
                tls: Tls::default(),
                ssh: (shell != Shell::None).then(|| Ssh {
                    user: "root".to_owned(),
                    key_file: None,
                    password_env: Some("SSH_PASSWORD".to_owned()),
                    known_hosts: folder.path().join("known_hosts"),
                }),
                ssh_addresses: ["delly", "minipc"]
                    .map(|node| (node.to_owned(), server.address.to_string()))
                    .into(),
            }],
            ..Connections::default()
        };
        let secrets = Secrets::given([("PVE_SECRET", SECRET), ("SSH_PASSWORD", ssh_server::PASSWORD)]);
        let mut stage = Stage::new();
        let local: Arc<dyn Source> = Arc::new(stage.host.clone());
        let infra = Infra::new(&connections, &secrets, vec![local]).unwrap();
        let fleet = Fleet::new(infra, Some(stage.host.clone()), None, Options::default());
        stage.toolbox = fleet.register(Toolbox::builder()).unwrap().build();
        let inventory = fleet.inventory();
        stage.inventory = Arc::new(inventory.clone());
        Self {
            stage,
            inventory,
            cluster,
            ssh: server.seen,
            folder,
        }
    }

    /// A world whose resources are all discovered.
    pub(super) async fn discovered() -> Self {
        let mut world = Self::new().await;
        world.data("infra_query", json!({"action": "list"})).await;
        world
    }

    /// The nodes are known by another host key from now on.
    pub(super) fn forget_host_key(&self) {
        let file = self.folder.path().join("known_hosts");
        let known = fs::read_to_string(&file).unwrap();
        let place = known.split_whitespace().next().unwrap();
        let other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVgm1MnBSUoGQgqKqR8GQMDDXLPdVKJTlqwZyZSIvfQ";
        fs::write(&file, format!("{place} {other}\n")).unwrap();
    }

    /// A path inside the guests.
    pub(super) fn path(&self, name: &str) -> String {
        self.guest_folder().join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn guest_folder(&self) -> PathBuf {
        self.folder.path().join("guest").canonicalize().unwrap()
    }

    pub(super) async fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let shown = arguments.to_string();
        let done = self.stage.run(tool, arguments).await;
        assert!(done.response.error().is_none(), "{shown}: {done:?}");
        assert!(!format!("{done:?}").contains(SECRET));
        done.response.outcome().unwrap().clone()
    }

    /// The code and message of a call that fails.
    pub(super) async fn error(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let (code, message) = self.stage.error(tool, arguments).await;
        assert!(
            !message.contains(SECRET) && !message.contains(ssh_server::PASSWORD),
            "{message}"
        );
        (code, message)
    }

    /// Takes the readings that are pending as code does before a conclusion.
    pub(super) async fn observe(&mut self) -> Vec<Verification> {
        self.stage.observe().await
    }
}

fn program(bin: &Path, name: &str, script: &str) {
    let path = bin.join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A service manager with one unit that remembers what was done to it.
fn systemctl(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "#!/bin/sh\ncd {folder} || exit 1\ncase \"$1 $2\" in\n\
         'show '*) printf 'LoadState=loaded\\nActiveState=%s\\nActiveEnterTimestamp=%s\\nInvocationID=%s\\n' \"$(cat active)\" \"$(cat since)\" \"$(cat since | tr -dc 0-9)\";;\n\
         '--no-ask-password restart'|'--no-ask-password start') sleep 0.01; echo active > active; \
         date -u '+%a %Y-%m-%d %H:%M:%S.%6N UTC' > since;;\n\
         '--no-ask-password stop') echo inactive > active;;\n\
         'list-units '*) echo 'nginx.service loaded active running Web';;\n\
         *) cat active;;\nesac\n"
    )
}

impl Cluster {
    fn home() -> Self {
        let hour = Instant::now().checked_sub(Duration::from_hours(1));
        let guest = |kind, node, name, since| Guest {
            kind,
            node,
            name,
            since,
        };
        Self {
            guests: BTreeMap::from([
                (141, guest("lxc", "delly", "homepage", hour)),
                (105, guest("lxc", "delly", "jellyfin", None)),
                (203, guest("qemu", "minipc", "homeassistant", hour)),
            ]),
            ..Self::default()
        }
    }

    fn answer(&mut self, asked: &Asked) -> Reply {
        if self.down {
            return said("503 Service Unavailable", "<html>down</html>");
        }
        if asked.header("authorization") != Some(&format!("PVEAPIToken=interlock@pve!agent={SECRET}")) {
            return said("401 No ticket", "{\"data\":null}");
        }
        let path = asked.path.trim_start_matches("/api2/json/").to_owned();
        self.asked.push(format!("{} {path}", asked.method));
        let (path, _) = path.split_once('?').unwrap_or((&path, ""));
        let words: Vec<&str> = path.split('/').collect();
        match (asked.method.as_str(), words.as_slice()) {
            ("GET", ["cluster", "resources"]) => data(&self.resources().to_string()),
            ("GET", ["cluster", "status"]) => {
                data(r#"[{"type":"cluster","name":"home","nodes":2,"quorate":1}]"#)
            }
            ("GET", ["nodes", _, "status"]) => data(r#"{"uptime":86400,"pveversion":"pve-manager/8.4.1"}"#),
            ("GET", ["nodes", _, "tasks", _, "status"]) => {
                data(&json!({"status": "stopped", "exitstatus": self.task.unwrap_or("OK")}).to_string())
            }
            ("GET", ["nodes", _, "tasks", _, "log"]) => data(r#"[{"n":1,"t":"a line of the task"}]"#),
            ("GET", ["nodes", _, "storage", "local", "content"]) => data(
                r#"[{"volid":"local:backup/a","vmid":"141","content":"backup"},{"volid":"local:iso/b"}]"#,
            ),
            (method, ["nodes", node, "lxc" | "qemu", vmid, rest @ ..]) => {
                self.guest(method, node, vmid.parse().unwrap(), rest, &asked.body)
            }
            _ => said("501 Method not implemented", "{\"data\":null}"),
        }
    }

    fn resources(&self) -> Value {
        let mut rows = vec![
            json!({"type": "node", "node": "delly", "status": "online"}),
            json!({"type": "node", "node": "minipc", "status": "online"}),
            json!({"type": "storage", "storage": "local", "node": "delly", "status": "available", "content": "backup"}),
        ];
        rows.extend(self.guests.iter().map(|(vmid, guest)| {
            json!({"type": guest.kind, "vmid": vmid, "node": guest.node, "name": guest.name,
                   "status": guest.status(), "tags": "prod"})
        }));
        rows.into()
    }

    fn guest(&mut self, method: &str, node: &str, vmid: u32, rest: &[&str], body: &str) -> Reply {
        let failed = self.task.is_some_and(|end| end != "OK");
        let Some(guest) = self.guests.get_mut(&vmid).filter(|guest| guest.node == node) else {
            let message = format!("500 Configuration file 'nodes/{node}/lxc/{vmid}.conf' does not exist");
            return said(&message, "{\"data\":null}");
        };
        let task = || data(&format!("\"{UPID}\""));
        match (method, rest) {
            ("GET", ["status", "current"]) => data(&guest.current().to_string()),
            ("GET", ["config"]) => data(r#"{"hostname":"homepage","memory":"512","cipassword":"hush"}"#),
            ("GET", ["agent", "exec-status"]) => {
                data(r#"{"exited":1,"exitcode":0,"out-data":"from the agent\n"}"#)
            }
            ("POST", ["agent", "exec"]) => {
                self.asked.push(body.to_owned());
                data(r#"{"pid":77}"#)
            }
            ("POST" | "DELETE", _) if failed => task(),
            ("POST", ["status", "start"]) if guest.since.is_some() => {
                said("500 CT already running", "{\"data\":null}")
            }
            ("POST", ["status", "start" | "reboot"]) => {
                guest.since = Some(Instant::now());
                task()
            }
            ("POST", ["status", "stop" | "shutdown"]) => {
                guest.since = None;
                task()
            }
            ("POST", ["migrate"]) => {
                guest.node = if body.contains("target=minipc") {
                    "minipc"
                } else {
                    "delly"
                };
                self.asked.push(body.to_owned());
                task()
            }
            ("DELETE", []) => {
                self.guests.remove(&vmid);
                task()
            }
            _ => said("501 Method not implemented", "{\"data\":null}"),
        }
    }
}

impl Guest {
    fn status(&self) -> &'static str {
        if self.since.is_some() {
            "running"
        } else {
            "stopped"
        }
    }

    fn current(&self) -> Value {
        let uptime = self.since.map_or(0, |since| since.elapsed().as_secs());
        json!({"status": self.status(), "uptime": uptime, "name": self.name})
    }
}
