//! What is known about a service, in the words of systemd.

use std::path::Path;
use std::time::{Instant, SystemTime};

use rustix::process::Pid;

use super::bus::About;
use super::process::Ended;
use super::unit_file::UnitFile;

/// What a service is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Activity {
    #[default]
    Inactive,
    /// A program that is to end is running.
    Starting,
    Running,
    /// Its program ended, and that is all that it was to do.
    Exited,
    Stopping,
    /// It ended and is started again soon.
    Restarting,
    Failed,
}

impl Activity {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Inactive => ("inactive", "dead"),
            Self::Starting => ("activating", "start"),
            Self::Running => ("active", "running"),
            Self::Exited => ("active", "exited"),
            Self::Stopping => ("deactivating", "stop-sigterm"),
            Self::Restarting => ("activating", "auto-restart"),
            Self::Failed => ("failed", "failed"),
        }
    }
}

/// A service.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// Its file as it was read, and when that was written.
    pub(crate) file: Option<(UnitFile, SystemTime)>,
    pub(crate) activity: Activity,
    pub(crate) pid: Option<Pid>,
    /// What its processes have in their environment.
    pub(crate) mark: String,
    /// Counts its starts, so that what belongs to an earlier one is told apart.
    pub(crate) generation: u64,
    pub(crate) stopping: bool,
    pub(crate) starts: Vec<Instant>,
    pub(crate) restarts: u32,
    pub(crate) result: String,
    pub(crate) last: Option<(Ended, Option<Pid>)>,
    active_enter: Option<i64>,
    inactive_enter: Option<i64>,
}

impl Service {
    pub(crate) fn become_(&mut self, activity: Activity) {
        let active = |activity: Activity| activity.words().0 == "active";
        let now = Some(jiff::Timestamp::now().as_microsecond());
        if active(activity) && !active(self.activity) {
            self.active_enter = now;
        }
        if matches!(activity, Activity::Inactive | Activity::Failed) {
            self.inactive_enter = now;
        }
        self.activity = activity;
    }

    pub(crate) fn about(&self, name: &str, path: &Path, changed: Option<SystemTime>) -> About {
        let (active, sub) = self.activity.words();
        let file = self.file.as_ref();
        About {
            name: name.to_owned(),
            description: file.map_or(name, |(file, _)| &file.description).to_owned(),
            load: if file.is_some() { "loaded" } else { "not-found" }.to_owned(),
            active: active.to_owned(),
            sub: sub.to_owned(),
            active_enter: self.active_enter,
            inactive_enter: self.inactive_enter,
            main_pid: self.pid.map_or(0, |pid| pid.as_raw_nonzero().get()),
            restarts: self.restarts,
            result: if self.result.is_empty() {
                "success"
            } else {
                &self.result
            }
            .to_owned(),
            ended: self.last.map(|(ended, pid)| {
                let pid = pid.map_or(0, |pid| pid.as_raw_nonzero().get());
                match ended {
                    Ended::Code(code) => ("exited".to_owned(), code, pid),
                    Ended::Signal(signal) => ("killed".to_owned(), signal, pid),
                }
            }),
            path: path.display().to_string(),
            command: file.map(|(file, _)| file.start.clone()).unwrap_or_default(),
            stale: file.is_some_and(|(_, read)| changed != Some(*read)),
        }
    }
}

/// The name of an exit code, as systemd writes it.
pub(crate) fn exit_name(code: i32) -> &'static str {
    match code {
        0 => "SUCCESS",
        1 => "FAILURE",
        2 => "INVALIDARGUMENT",
        3 => "NOTIMPLEMENTED",
        4 => "NOPERMISSION",
        5 => "NOTINSTALLED",
        6 => "NOTCONFIGURED",
        7 => "NOTRUNNING",
        70 => "SOFTWARE",
        74 => "IOERR",
        78 => "CONFIG",
        200 => "CHDIR",
        203 => "EXEC",
        _ => "n/a",
    }
}
