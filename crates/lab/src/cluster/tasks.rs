//! Tasks: what the cluster is asked to do runs in the background, with a name and a log.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::upid::{TaskKind, Upid};
use super::{Cluster, Error};

/// How many tasks are remembered.
const MOST: usize = 2000;

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It still runs.
    Running,
    /// It did what it should.
    Ok,
    /// It did not, because of this.
    Failed(String),
}

impl Outcome {
    /// As Proxmox says it, once it has ended.
    pub fn exit_status(&self) -> Option<&str> {
        match self {
            Self::Running => None,
            Self::Ok => Some("OK"),
            Self::Failed(why) => Some(why),
        }
    }
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name.
    pub upid: Upid,
    /// What became of it.
    pub outcome: Outcome,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// What it said.
    pub log: Vec<String>,
    stop: CancellationToken,
    done: watch::Receiver<bool>,
}

/// What a task writes its log with.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    cluster: Cluster,
    upid: Upid,
    stop: CancellationToken,
}

impl Progress {
    pub(super) fn say(&self, line: impl Into<String>) {
        let line = line.into();
        self.cluster.with(|state| {
            if let Some(task) = state.tasks.iter_mut().rev().find(|task| task.upid == self.upid) {
                task.log.push(line);
            }
        });
    }

    /// Lets time pass, as the real thing does: this long, at the cluster's speed.
    pub(super) async fn pass(&self, milliseconds: u64) -> Result<(), String> {
        let time = Duration::from_millis(milliseconds).div_f64(self.cluster.speed());
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = self.stop.cancelled() => Err("received interrupt".to_owned()),
        }
    }
}

impl Cluster {
    /// Begins a task.
    pub(super) fn begin<Work, Doing>(
        &self,
        node: &str,
        kind: TaskKind,
        id: &str,
        user: &str,
        work: Work,
    ) -> Upid
    where
        Work: FnOnce(Progress) -> Doing,
        Doing: Future<Output = Result<(), String>> + Send + 'static,
    {
        let (finished, done) = watch::channel(false);
        let stop = CancellationToken::new();
        let upid = self.with(|state| {
            let now = super::now();
            let booted_at = state.nodes.get(node).map_or(now, |node| node.booted_at);
            let upid = Upid {
                node: node.to_owned(),
                pid: state.next_pid(),
                pstart: u32::try_from((now - booted_at).max(0).saturating_mul(100)).unwrap_or(u32::MAX),
                starttime: u32::try_from(now).unwrap_or(u32::MAX),
                kind,
                id: id.to_owned(),
                user: user.to_owned(),
            };
            if state.tasks.len() >= MOST {
                state.tasks.drain(..MOST / 4);
            }
            state.tasks.push(Task {
                upid: upid.clone(),
                outcome: Outcome::Running,
                ended_at: None,
                log: Vec::new(),
                stop: stop.clone(),
                done,
            });
            state.record(node, user, "pvedaemon", 6, format!("starting task {upid}"));
            upid
        });
        let doing = work(Progress {
            cluster: self.clone(),
            upid: upid.clone(),
            stop,
        });
        let (cluster, name) = (self.clone(), upid.clone());
        tokio::spawn(async move {
            let result = doing.await;
            cluster.end_task(&name, result);
            finished.send_replace(true);
        });
        upid
    }

    fn end_task(&self, upid: &Upid, result: Result<(), String>) {
        self.with(|state| {
            let (priority, words) = match &result {
                Ok(()) => (6, "OK".to_owned()),
                Err(why) => (3, why.clone()),
            };
            state.record(
                &upid.node,
                &upid.user,
                "pvedaemon",
                priority,
                format!("end task {upid} {words}"),
            );
            if let Some(task) = state.tasks.iter_mut().rev().find(|task| task.upid == *upid) {
                task.ended_at = Some(super::now());
                match result {
                    Ok(()) => {
                        task.log.push("TASK OK".to_owned());
                        task.outcome = Outcome::Ok;
                    }
                    Err(why) => {
                        task.log.push(format!("TASK ERROR: {why}"));
                        task.outcome = Outcome::Failed(why);
                    }
                }
            }
        });
    }

    /// A task, by its name.
    pub fn task(&self, upid: &Upid) -> Option<Task> {
        self.with(|state| state.tasks.iter().rev().find(|task| task.upid == *upid).cloned())
    }

    /// All tasks, the newest first.
    pub fn tasks(&self) -> Vec<Task> {
        self.with(|state| state.tasks.iter().rev().cloned().collect())
    }

    /// Asks a task to end before it is done.
    pub fn stop_task(&self, upid: &Upid) -> bool {
        self.task(upid).map(|task| task.stop.cancel()).is_some()
    }

    /// Waits for the end of a task. An error if it did not do what it should.
    pub async fn wait(&self, upid: &Upid) -> Result<(), Error> {
        let gone = || Error::NoTask(upid.to_string());
        let mut task = self.task(upid).ok_or_else(gone)?;
        // An error means that the task's worker is gone, and then its outcome is what it is.
        let _ = task.done.wait_for(|done| *done).await;
        match self.task(upid).ok_or_else(gone)?.outcome {
            Outcome::Ok => Ok(()),
            Outcome::Running => Err(Error::Refused("the task came to no end".to_owned())),
            Outcome::Failed(why) => Err(Error::Refused(why)),
        }
    }
}
