//! What `pct` and `qm` can do, and how they say it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Caller;
use super::print::{people, perl_json, status_word};
use super::words::Words;
use crate::cluster::{Cluster, Error, GuestView, Located, Migration, Place, Power, Upid, folder_of, numbers};
use crate::machine::{Exec, Machine};
use crate::proxmox::exec_status;
use crate::topology::GuestKind;

/// Who a program on a node acts for.
const ROOT: &str = "root@pam";

/// Runs one command; its exit code.
pub(super) async fn run(cluster: &Cluster, node: &str, words: &[String], caller: &mut Caller) -> u8 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (kind, rest) = match words.as_slice() {
        ["pct", rest @ ..] => (GuestKind::Lxc, rest),
        ["qm", rest @ ..] => (GuestKind::Vm, rest),
        _ => return caller.fail(255, "no such program").await,
    };
    let job = Job { cluster, node, kind };
    match (kind, rest) {
        (_, ["list", ..]) => job.list(caller).await,
        (_, ["status", rest @ ..]) => job.status(rest, caller).await,
        (_, ["config", rest @ ..]) => job.config(rest, caller).await,
        (_, ["start", rest @ ..]) => job.power(Power::Start, rest, caller).await,
        (_, ["stop", rest @ ..]) => job.power(Power::Stop, rest, caller).await,
        (_, ["shutdown", rest @ ..]) => job.power(Power::Shutdown, rest, caller).await,
        (_, ["reboot", rest @ ..]) => job.power(Power::Reboot, rest, caller).await,
        (GuestKind::Vm, ["reset", rest @ ..]) => job.power(Power::Reset, rest, caller).await,
        (GuestKind::Vm, ["suspend", rest @ ..]) => job.power(Power::Suspend, rest, caller).await,
        (GuestKind::Vm, ["resume", rest @ ..]) => job.power(Power::Resume, rest, caller).await,
        (_, ["migrate", rest @ ..]) => job.migrate(rest, caller).await,
        (GuestKind::Lxc, ["exec", rest @ ..]) => job.exec(rest, caller).await,
        (GuestKind::Lxc, ["df", rest @ ..]) => job.df(rest, caller).await,
        (GuestKind::Lxc, ["pull", rest @ ..]) => job.copy(rest, Way::Out, caller).await,
        (GuestKind::Lxc, ["push", rest @ ..]) => job.copy(rest, Way::In, caller).await,
        (GuestKind::Vm, ["guest", "exec", rest @ ..]) => job.guest_exec(rest, caller).await,
        (GuestKind::Vm, ["guest", "cmd", rest @ ..]) => job.guest_cmd(rest, caller).await,
        (_, []) => caller.fail(255, &job.usage("no command specified")).await,
        (_, [unknown, ..]) => {
            let text = job.usage(&format!("unknown command '{} {unknown}'", job.program()));
            caller.fail(255, &text).await
        }
    }
}

/// Which way a file goes.
#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

struct Job<'a> {
    cluster: &'a Cluster,
    node: &'a str,
    kind: GuestKind,
}

/// Why a command ends early: its exit code and its words.
struct Stop(u8, String);

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self(255, error.to_string())
    }
}

impl Job<'_> {
    const fn program(&self) -> &'static str {
        match self.kind {
            GuestKind::Lxc => "pct",
            GuestKind::Vm => "qm",
        }
    }

    fn usage(&self, problem: &str) -> String {
        let further = match self.kind {
            GuestKind::Lxc => "exec|df|pull|push",
            GuestKind::Vm => "reset|suspend|resume|guest exec|guest cmd",
        };
        format!(
            "ERROR: {problem}\nUSAGE: {} list|status|config|start|stop|shutdown|reboot|migrate|{further} [ARGS] [OPTIONS]",
            self.program()
        )
    }

    /// The guest, which must be on this node.
    fn guest(&self, word: Option<&String>) -> Result<(u32, Located), Stop> {
        let word = word.ok_or_else(|| Stop(255, "400 not enough arguments".to_owned()))?;
        let vmid: u32 = word.parse().map_err(|_| {
            Stop(
                255,
                format!("400 Parameter verification failed.\nvmid: invalid format - value '{word}' does not look like a valid VM ID"),
            )
        })?;
        self.cluster
            .locate(vmid)
            .ok()
            .filter(|located| located.node == self.node && located.kind == self.kind)
            .map(|located| (vmid, located))
            .ok_or_else(|| {
                let folder = folder_of(self.kind);
                Stop(
                    2,
                    format!(
                        "Configuration file 'nodes/{}/{folder}/{vmid}.conf' does not exist",
                        self.node
                    ),
                )
            })
    }

    async fn list(&self, caller: &mut Caller) -> u8 {
        let guests: Vec<GuestView> = self
            .cluster
            .guests()
            .await
            .into_iter()
            .filter(|guest| guest.node == self.node && guest.kind == self.kind)
            .collect();
        if guests.is_empty() {
            return 0;
        }
        let mut text = match self.kind {
            GuestKind::Lxc => format!("{:<10} {:<10} {:<12} {:<20}\n", "VMID", "Status", "Lock", "Name"),
            GuestKind::Vm => format!(
                "{:>10} {:<20} {:<10} {:<10} {:>12} {:<10}\n",
                "VMID", "NAME", "STATUS", "MEM(MB)", "BOOTDISK(GB)", "PID"
            ),
        };
        for guest in guests {
            let (vmid, name, status) = (guest.vmid, &guest.name, status_word(guest.status));
            let _ = match self.kind {
                GuestKind::Lxc => {
                    let lock = guest.lock.as_deref().unwrap_or("");
                    writeln!(text, "{vmid:<10} {status:<10} {lock:<12} {name:<20}")
                }
                GuestKind::Vm => {
                    let memory = guest.memory_bytes >> 20;
                    let disk = numbers::ratio(guest.disk_bytes, 1 << 30);
                    let pid = if guest.uptime > 0 { 1000 + vmid } else { 0 };
                    writeln!(
                        text,
                        "{vmid:>10} {name:<20} {status:<10} {memory:<10} {disk:>12.2} {pid:<10}"
                    )
                }
            };
        }
        caller.print(text).await
    }

    async fn status(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        let found = self
            .guest(words.plain.first())
            .and_then(|(vmid, _)| Ok(self.cluster.status(vmid)?));
        match found {
            Ok(status) => caller.print(format!("status: {}\n", status_word(status))).await,
            Err(Stop(code, text)) => caller.fail(code, &text).await,
        }
    }

    async fn config(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        match self.guest(words.plain.first()) {
            Ok((_, located)) => {
                let lines = located.config.now.iter();
                let text = lines.fold(String::new(), |mut text, (key, value)| {
                    let _ = writeln!(text, "{key}: {value}");
                    text
                });
                caller.print(text).await
            }
            Err(Stop(code, text)) => caller.fail(code, &text).await,
        }
    }

    async fn power(&self, power: Power, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        let begun = self
            .guest(words.plain.first())
            .and_then(|(vmid, _)| Ok(self.cluster.power(vmid, power, ROOT)?));
        self.follow(begun, caller).await
    }

    async fn migrate(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 2);
        let begun = self.guest(words.plain.first()).and_then(|(vmid, _)| {
            let target = words.plain.get(1).cloned().unwrap_or_default();
            let migration = Migration {
                target,
                online: words.is_on("online"),
                restart: words.is_on("restart"),
                with_local_disks: words.is_on("with-local-disks"),
            };
            Ok(self.cluster.migrate(vmid, migration, ROOT)?)
        });
        self.follow(begun, caller).await
    }

    /// Waits for a task as the real programs do, and says what it said.
    async fn follow(&self, begun: Result<Upid, Stop>, caller: &mut Caller) -> u8 {
        let upid = match begun {
            Ok(upid) => upid,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        let result = self.cluster.wait(&upid).await;
        let said = self.cluster.task(&upid).map(|task| task.log).unwrap_or_default();
        for line in said.iter().filter(|line| !line.starts_with("TASK ")) {
            caller.print(format!("{line}\n")).await;
        }
        match result {
            Ok(()) => 0,
            Err(error) => caller.fail(255, &error.to_string()).await,
        }
    }

    /// The machine of a guest that runs on this node.
    fn running(&self, word: Option<&String>) -> Result<Machine, Stop> {
        let (vmid, _) = self.guest(word)?;
        self.cluster
            .machine(&Place::Guest(vmid))
            .ok_or_else(|| Stop(255, "CT is not running".to_owned()))
    }

    async fn exec(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        let machine = match self.running(words.plain.first()) {
            Ok(_) if words.rest.is_empty() => return caller.fail(255, "400 not enough arguments").await,
            Ok(machine) => machine,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        let exec = Exec {
            argv: words.rest,
            stdin: caller.input().await,
            ..Exec::default()
        };
        caller.stream(&machine, exec).await
    }

    async fn df(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        let machine = match self.running(words.plain.first()) {
            Ok(machine) => machine,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        let usages = match machine.usage().await {
            Ok(usages) => usages,
            Err(error) => return caller.fail(255, &error.to_string()).await,
        };
        let volume = |index: usize| match index {
            0 => "rootfs".to_owned(),
            index => format!("mp{}", index - 1),
        };
        let mut text = "MP     Volume               Size    Used    Avail   Use%  Path\n".to_owned();
        for (index, usage) in usages.iter().enumerate() {
            let free = usage.total.saturating_sub(usage.used);
            let _ = writeln!(
                text,
                "{:<6} {:<20} {:<7} {:<7} {:<7} {:<5.1} {}",
                volume(index),
                format!("{}-disk-{index}", machine.name()),
                people(usage.total),
                people(usage.used),
                people(free),
                100.0 * numbers::ratio(usage.used, usage.total),
                usage.path.display()
            );
        }
        caller.print(text).await
    }

    async fn copy(&self, words: &[&str], way: Way, caller: &mut Caller) -> u8 {
        let words = parse(words, 3);
        let machine = match self.running(words.plain.first()) {
            Ok(machine) => machine,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        let (Some(from), Some(to)) = (words.plain.get(1), words.plain.get(2)) else {
            return caller.fail(255, "400 not enough arguments").await;
        };
        let Some(node) = self.cluster.machine(&Place::Node(self.node.to_owned())) else {
            return caller.fail(255, "the node is not running").await;
        };
        let (source, target) = match way {
            Way::In => (node, machine),
            Way::Out => (machine, node),
        };
        let copied = match source.read(from).await {
            Ok(content) => target.write(to, &content).await,
            Err(error) => Err(error),
        };
        match copied {
            Ok(()) => 0,
            Err(error) => caller.fail(255, &error.to_string()).await,
        }
    }

    async fn guest_exec(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 1);
        let vmid = match self.guest(words.plain.first()) {
            Ok((vmid, _)) => vmid,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        let stdin = if words.is_on("pass-stdin") {
            caller.input().await
        } else {
            Vec::new()
        };
        let pid = match self.cluster.agent_exec(vmid, words.rest.clone(), stdin).await {
            Ok(pid) => pid,
            Err(error) => return caller.fail(255, &error.to_string()).await,
        };
        let asynchronous = words.options.get("synchronous").is_some_and(|value| value == "0");
        if asynchronous {
            return caller.print(perl_json(&json!({ "pid": pid }))).await;
        }
        let timeout = words.options.get("timeout").and_then(|value| value.parse().ok());
        let timeout = Duration::from_secs(timeout.unwrap_or(30));
        let began = Instant::now();
        while timeout.is_zero() || began.elapsed() < timeout {
            match self.cluster.agent_status(vmid, pid) {
                Ok(status) if status.exited => return caller.print(perl_json(&exec_status(&status))).await,
                Ok(_) => tokio::time::sleep(Duration::from_millis(25)).await,
                Err(error) => return caller.fail(255, &error.to_string()).await,
            }
        }
        caller.fail(0, "timeout reached, returning pid").await;
        caller.print(perl_json(&json!({ "pid": pid }))).await
    }

    async fn guest_cmd(&self, words: &[&str], caller: &mut Caller) -> u8 {
        let words = parse(words, 2);
        let vmid = match self.guest(words.plain.first()) {
            Ok((vmid, _)) => vmid,
            Err(Stop(code, text)) => return caller.fail(code, &text).await,
        };
        match (words.plain.get(1).map(String::as_str), self.cluster.agent(vmid)) {
            (_, Err(error)) => caller.fail(255, &error.to_string()).await,
            (Some("ping"), Ok(_)) => 0,
            (command, Ok(_)) => {
                let text = format!("unknown guest agent command '{}'", command.unwrap_or(""));
                caller.fail(255, &text).await
            }
        }
    }
}

fn parse(words: &[&str], plain: usize) -> Words {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Words::parse(&words, plain)
}
