//! Reading inside this machine: a command, a file, a search, a log.

use interlock_exec::{Program, UnitName, argv_of};
use interlock_gate::Started;
use interlock_protocol::{AnalysisWall, MOST_TAKEN, Observation};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{LocalHost, arguments};
use crate::Done;
use crate::Failure;
use crate::file::{self, Keep, Search};
use crate::options::count;
use crate::sockets;

/// What journald's reader says, on its error stream, when there is nothing to read.
const NO_JOURNAL: &str = "No journal files were";

/// How many units of one command are looked at for what they are doing.
const MOST_UNITS: usize = 8;

impl LocalHost {
    pub(crate) async fn read(&self, started: &Started, cancel: &CancellationToken) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        match plan.action.as_deref() {
            Some("exec") => {
                let command = plan
                    .command
                    .as_deref()
                    .ok_or_else(|| Failure::missing("command"))?;
                let program = Program::command(command, sockets::needed);
                let mut done = self
                    .run_program(started, program, AnalysisWall::Read, cancel)
                    .await?;
                if let Some(walls) = done.reading.as_mut().and_then(|reading| reading.walls.as_mut()) {
                    walls.sandbox = sockets::held(command, walls.sandbox.clone());
                }
                Ok(self.with_units(done, units_of(command)).await)
            }
            Some("file") => self.content(started).await,
            Some("tail") => {
                let lines =
                    arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines));
                let bytes = MOST_TAKEN;
                self.content_part(started, Keep::Tail { lines, bytes }).await
            }
            Some("find") => self.find_files(started).await,
            Some("logs") => self.logs(started, cancel).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    async fn find_files(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        let taken_at = Timestamp::now();
        let path = arguments::needed(plan, "path")?.to_owned();
        let pattern = arguments::text(plan, "pattern").map(str::to_owned);
        let data = self
            .blocking(move |host| {
                let options = &host.inner.options;
                let search = Search {
                    pattern: pattern.as_deref(),
                    found: count(options.entries),
                    visited: count(options.visited),
                    depth: count(options.depth),
                };
                file::find(host.guard(), &path, search)
            })
            .await?;
        Ok(
            Done::succeeded(data.clone(), "looked for files").with_reading(self.reading(
                taken_at,
                data,
                Vec::new(),
            )),
        )
    }

    /// The newest lines of the system's log, of one unit or of all.
    pub(crate) async fn logs(&self, started: &Started, cancel: &CancellationToken) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        let lines = arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines));
        let unit = arguments::text(plan, "unit").map(UnitName::new).transpose()?;
        let mut argv = vec![
            "journalctl".to_owned(),
            "--no-pager".to_owned(),
            "--output=short-iso".to_owned(),
            format!("--lines={lines}"),
        ];
        if let Some(unit) = &unit {
            argv.push(format!("--unit={unit}"));
        }
        if let Some(since) = arguments::text(plan, "since") {
            argv.push(format!("--since={since}"));
        }
        let done = self
            .run_program(started, Program::new(argv)?, AnalysisWall::FixedForm, cancel)
            .await?;
        let data = done.response.outcome().ok();
        let text = |key: &str| {
            data.and_then(|data| data.get(key)?.as_str())
                .unwrap_or("")
                .to_owned()
        };
        if done.exit_code != Some(0) || text("stderr").contains(NO_JOURNAL) {
            return Err(Failure::failed(
                "this machine keeps no journal that can be read; look for a log file with action=find under /var/log",
            )
            .exit_code(done.exit_code)
            .detail("stderr", text("stderr")));
        }
        Ok(self.with_units(done, unit.into_iter().collect()).await)
    }

    /// Adds to a reading what these units are doing, so that it can verify a write to one of them.
    async fn with_units(&self, mut done: Done, units: Vec<UnitName>) -> Done {
        if let Some(reading) = &mut done.reading {
            for unit in units {
                if let Ok(seen) = self.unit(&unit).await {
                    let seen: Vec<Observation> = seen.observations(&unit);
                    reading.observations.extend(seen);
                }
            }
        }
        done
    }
}

/// The units that a command asks systemd about.
pub(crate) fn units_of(command: &str) -> Vec<UnitName> {
    let Some(argv) = argv_of(command) else {
        return Vec::new();
    };
    let mut words = argv
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'));
    match (words.next(), words.next()) {
        (Some("systemctl"), Some("status" | "show" | "is-active" | "is-failed")) => words
            .filter_map(|word| UnitName::new(word).ok())
            .take(MOST_UNITS)
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::units_of;

    #[test]
    fn units_are_those_that_systemd_is_asked_about() {
        let cases: [(&str, &[&str]); 5] = [
            ("systemctl status nginx", &["nginx"]),
            ("systemctl --no-pager is-active a.service b", &["a.service", "b"]),
            ("systemctl list-units nginx", &[]),
            ("cat nginx", &[]),
            ("systemctl status $UNIT", &[]),
        ];
        for (command, units) in cases {
            let got: Vec<String> = units_of(command).iter().map(ToString::to_string).collect();
            assert_eq!(got, units, "{command}");
        }
    }
}
