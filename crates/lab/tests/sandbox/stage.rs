//! A small cluster whose guests offer different sandboxes, the connectors of the product, and permits of the real gate.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use interlock_gate::Started;
use interlock_infra::options::{Options, Proxmox, Ssh, Tls};
use interlock_infra::{Error, Form, Infra, Job, Limits, Output, Secrets};
use interlock_lab::cluster::{self, Cluster, Place};
use interlock_lab::machine::{Exec, File, Isolation, Machine, Machines, Spec, Wish};
use interlock_lab::proxmox::{self, Credentials};
use interlock_lab::ssh;
use interlock_lab::topology::{Guest, GuestKind, Node, Storage, Topology};
use interlock_protocol::{ResourceId, SocketKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::permits::started;

/// A guest with everything that this system has.
pub(crate) const WHOLE: &str = "lxc:delly:141";
/// One whose `bwrap` does not work.
pub(crate) const NO_BWRAP: &str = "lxc:delly:142";
/// One whose `bwrap` and `unshare` do not work.
pub(crate) const NOTHING: &str = "lxc:delly:143";
/// One whose `bwrap` and `unshare` run the command as it is, and say nothing.
pub(crate) const LIAR: &str = "lxc:delly:144";
/// A virtual machine with everything.
pub(crate) const MACHINE: &str = "vm:delly:203";
/// The node.
pub(crate) const NODE: &str = "node:delly";

const BROKEN: &str = "#!/bin/sh\nexit 1\n";
const LYING: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";

pub(crate) struct Stage {
    pub(crate) infra: Infra,
    pub(crate) cluster: Cluster,
    _proxmox: proxmox::Server,
    _ssh: ssh::Server,
    _machines: Arc<Machines>,
    _place: tempfile::TempDir,
}

fn file(path: &str, content: &str, mode: u32) -> File {
    File {
        path: PathBuf::from(path),
        content: content.as_bytes().to_vec(),
        mode,
    }
}

fn guest(vmid: u32, kind: GuestKind, further: Vec<File>) -> Guest {
    let name = format!("guest{vmid}");
    let mut files = vec![
        file("/etc/motd", "welcome\n", 0o644),
        file("/root/.ssh/authorized_keys", "ssh-ed25519 AAAA\n", 0o600),
        file("/srv/data/one", "1\n", 0o640),
        file("/var/log/app.log", "line 1\nline 2\n", 0o644),
        file("/etc/cron.d/job", "* * * * * root true\n", 0o644),
    ];
    files.extend(further);
    Guest {
        vmid,
        kind,
        name: name.clone(),
        node: "delly".to_owned(),
        cores: 1,
        memory_bytes: 1 << 30,
        running: true,
        tags: vec!["prod".to_owned()],
        storage: "local-lvm".to_owned(),
        spec: Spec {
            name,
            address: Some(Ipv4Addr::new(10, 77, 1, u8::try_from(vmid).unwrap())),
            disk_bytes: 64 << 20,
            files,
            ..Spec::default()
        },
    }
}

fn topology() -> Topology {
    let program = |name: &str, text: &str| file(&format!("/usr/local/bin/{name}"), text, 0o755);
    Topology {
        name: "lab".to_owned(),
        nodes: vec![Node {
            name: "delly".to_owned(),
            cpus: 4,
            memory_bytes: 8 << 30,
            spec: Spec {
                name: "delly".to_owned(),
                address: Some(Ipv4Addr::new(10, 77, 0, 1)),
                disk_bytes: 64 << 20,
                ..Spec::default()
            },
        }],
        guests: vec![
            guest(141, GuestKind::Lxc, Vec::new()),
            guest(142, GuestKind::Lxc, vec![program("bwrap", BROKEN)]),
            guest(
                143,
                GuestKind::Lxc,
                vec![program("bwrap", BROKEN), program("unshare", BROKEN)],
            ),
            guest(
                144,
                GuestKind::Lxc,
                vec![program("bwrap", LYING), program("unshare", LYING)],
            ),
            guest(203, GuestKind::Vm, Vec::new()),
        ],
        storages: vec![Storage {
            name: "local-lvm".to_owned(),
            kind: "lvmthin".to_owned(),
            shared: false,
            content: "rootdir,images".to_owned(),
            total_bytes: 100 << 30,
            base_bytes: 1 << 30,
        }],
    }
}

impl Stage {
    /// Nothing where this system has no namespaces for machines or lacks the programs, which is said aloud.
    pub(crate) async fn set() -> Option<Self> {
        for program in ["bwrap", "unshare", "setpriv"] {
            if !["/usr/bin", "/bin", "/usr/sbin"]
                .iter()
                .any(|folder| PathBuf::from(folder).join(program).exists())
            {
                eprintln!("SKIPPED: this system has no `{program}`");
                return None;
            }
        }
        let place = tempfile::tempdir().unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_interlock-lab"));
        let machines = Machines::new(program, place.path().join("machines"), Wish::Best)
            .await
            .unwrap();
        if let Isolation::Folders { why } = machines.isolation() {
            eprintln!("SKIPPED: this system has no namespaces for machines ({why})");
            return None;
        }
        let machines = Arc::new(machines);
        let options = cluster::Options { speed: 20.0 };
        let cluster = Cluster::start(Arc::clone(&machines), topology(), options)
            .await
            .unwrap();
        let credentials = Credentials::generate();
        let server = proxmox::serve(cluster.clone(), credentials.clone(), 0)
            .await
            .unwrap();
        let keys = ssh::Access::generate().unwrap();
        let shell = ssh::serve(cluster.clone(), "delly", &keys, 0).await.unwrap();
        let (key_file, known_hosts) = (place.path().join("key"), place.path().join("known_hosts"));
        std::fs::write(&key_file, &keys.private_key).unwrap();
        std::fs::write(&known_hosts, shell.known_hosts_line() + "\n").unwrap();
        let options = Options {
            local: false,
            proxmox: vec![Proxmox {
                name: "lab".to_owned(),
                url: server.url(),
                token_id: Some(credentials.token_id.clone()),
                token_secret_env: Some("SECRET".to_owned()),
                user: None,
                password_env: None,
                tls: Tls {
                    fingerprint: Some(server.identity.fingerprint().to_owned()),
                    ..Tls::default()
                },
                ssh: Some(Ssh {
                    user: "root".to_owned(),
                    key_file: Some(key_file),
                    password_env: None,
                    known_hosts,
                }),
                ssh_addresses: [("delly".to_owned(), shell.address.to_string())].into(),
            }],
            ..Options::default()
        };
        let secrets = Secrets::given([("SECRET", credentials.token_secret.as_str())]);
        let infra = Infra::new(&options, &secrets, Vec::new()).unwrap();
        Some(Self {
            infra,
            cluster,
            _proxmox: server,
            _ssh: shell,
            _machines: machines,
            _place: place,
        })
    }

    /// Runs a command as one that only reads, whatever it does: as if the analysis let everything pass.
    pub(crate) async fn read(
        &self,
        resource: &str,
        command: &str,
        sockets: &[SocketKind],
        wall: Duration,
    ) -> Result<Output, Error> {
        let argv = ["sh", "-c", command].map(str::to_owned);
        self.job(resource, (&argv, sockets, &[]), wall).await
    }

    /// Runs the programs of a pipeline, each with the sockets that it needs.
    pub(crate) async fn pipeline(
        &self,
        resource: &str,
        programs: &[(&str, &[SocketKind])],
    ) -> Result<Output, Error> {
        let stages: Vec<interlock_infra::Stage> = programs
            .iter()
            .map(|(program, sockets)| interlock_infra::Stage {
                argv: ["sh", "-c", program].map(str::to_owned).to_vec(),
                errors: interlock_infra::Errors::Joined,
                sockets: sockets.to_vec(),
            })
            .collect();
        let argv = ["false".to_owned()];
        self.job(resource, (&argv, &[], &stages), Duration::from_secs(20))
            .await
    }

    async fn job(
        &self,
        resource: &str,
        (argv, sockets, stages): (&[String], &[SocketKind], &[interlock_infra::Stage]),
        wall: Duration,
    ) -> Result<Output, Error> {
        let started = reading(resource);
        let job = Job {
            argv,
            stdin: None,
            sockets,
            stages,
            form: Form::Free,
            limits: Limits {
                wall,
                ..Limits::default()
            },
        };
        let id: ResourceId = resource.parse().unwrap();
        self.infra
            .run(&started, &id, job, &CancellationToken::new())
            .await
    }

    pub(crate) fn machine(&self, resource: &str) -> Machine {
        let id: ResourceId = resource.parse().unwrap();
        let place = match id.uid().parse() {
            Ok(vmid) => Place::Guest(vmid),
            Err(_) => Place::Node(id.uid().to_owned()),
        };
        self.cluster.machine(&place).unwrap()
    }

    /// Runs a command of the test's own, from outside and in no sandbox.
    pub(crate) async fn outside(&self, resource: &str, command: &str) -> String {
        let exec = Exec {
            argv: ["sh", "-c", command].map(str::to_owned).to_vec(),
            ..Exec::default()
        };
        let done = self.machine(resource).exec(exec).await.unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

/// The proof that the gate let a command run that only reads.
pub(crate) fn reading(resource: &str) -> Started {
    let arguments = json!({"action": "exec", "target_host": resource, "command": "uptime"});
    started(resource, "infra_read", arguments)
}
