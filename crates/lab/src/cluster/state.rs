//! What the cluster remembers of its nodes and guests. Where a guest is, is in [`super::folder`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::agent::Run;
use super::tasks::Task;
use crate::machine::{Machine, Spec};
use crate::topology::GuestKind;

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It is well.
    Online,
    /// It is up, but its disk is dying.
    DiskFailing,
    /// It cannot be reached.
    Offline,
}

/// How a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestStatus {
    /// It runs.
    Running,
    /// It runs, but stands still.
    Paused,
    /// It does not run.
    Stopped,
    /// Its node does not answer.
    Unknown,
}

#[derive(Debug)]
pub(super) struct NodeState {
    pub(super) cpus: u32,
    pub(super) memory_bytes: u64,
    pub(super) spec: Spec,
    pub(super) machine: Option<Machine>,
    pub(super) health: Health,
    /// Since when, in seconds of the epoch.
    pub(super) health_since: i64,
    pub(super) booted_at: i64,
}

#[derive(Debug)]
pub(super) struct GuestState {
    pub(super) spec: Spec,
    pub(super) machine: Option<Machine>,
    /// How full its disk was when it was last looked at.
    pub(super) disk_used: u64,
    /// Counts the starts, so that the end of an old machine is not taken for the end of the new one.
    pub(super) generation: u64,
    pub(super) paused: bool,
    /// When it began or ceased to run, oldest first.
    pub(super) history: Vec<(i64, bool)>,
    /// One operation at a time, as by the lock file of a real node.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

impl GuestState {
    pub(super) fn started_at(&self) -> Option<i64> {
        self.machine.as_ref()?;
        self.history
            .iter()
            .rev()
            .find(|(_, running)| *running)
            .map(|(at, _)| *at)
    }

    pub(super) const fn status(&self) -> GuestStatus {
        match (&self.machine, self.paused) {
            (Some(_), false) => GuestStatus::Running,
            (Some(_), true) => GuestStatus::Paused,
            (None, _) => GuestStatus::Stopped,
        }
    }
}

/// A line of the cluster's log.
#[derive(Debug, Clone)]
pub struct LogLine {
    /// Which one.
    pub uid: u64,
    /// When.
    pub time: i64,
    /// On which node.
    pub node: String,
    /// Who.
    pub user: String,
    /// Which program.
    pub tag: &'static str,
    /// How bad it is, as syslog counts.
    pub priority: u8,
    /// What happened.
    pub message: String,
}

/// A backup of a guest.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The storage that it is in.
    pub storage: String,
    /// Its name there.
    pub file: String,
    /// Of which guest.
    pub vmid: u32,
    /// What that is.
    pub kind: GuestKind,
    /// How large it is.
    pub size: u64,
    /// When it was made.
    pub time: i64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) nodes: BTreeMap<String, NodeState>,
    pub(super) guests: BTreeMap<u32, GuestState>,
    pub(super) tasks: Vec<Task>,
    pub(super) log: Vec<LogLine>,
    pub(super) log_count: u64,
    pub(super) backups: Vec<Backup>,
    pub(super) runs: HashMap<(u32, u32), Run>,
    pub(super) last_pid: u32,
}

impl State {
    /// The next process number.
    pub(super) fn next_pid(&mut self) -> u32 {
        self.last_pid = match self.last_pid {
            0 => 0x4A31,
            last if last > 0x3F_0000 => 0x1000,
            last => last + 7,
        };
        self.last_pid
    }

    pub(super) fn record(
        &mut self,
        node: &str,
        user: &str,
        tag: &'static str,
        priority: u8,
        message: String,
    ) {
        const MOST: usize = 2000;
        self.log_count += 1;
        self.log.push(LogLine {
            uid: self.log_count,
            time: super::now(),
            node: node.to_owned(),
            user: user.to_owned(),
            tag,
            priority,
            message,
        });
        if self.log.len() > MOST {
            self.log.drain(..MOST / 4);
        }
    }
}
