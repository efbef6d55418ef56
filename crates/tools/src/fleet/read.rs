//! Reading inside a resource: a command, a file, a search, a log.

use interlock_exec::UnitName;
use interlock_gate::Started;
use interlock_infra::{Exit, FilePath, Form, Output, Probe};
use interlock_protocol::ResourceId;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::files::kind_word;
use super::reach::{Place, reading, walls_of};
use crate::Done;
use crate::Failure;
use crate::local::arguments;
use crate::local::read::units_of;
use crate::options::count;

/// What journald's reader says, on its error stream, when there is nothing to read.
const NO_JOURNAL: &str = "No journal files were";

impl Fleet {
    pub(super) async fn read(&self, started: &Started, cancel: &CancellationToken) -> Result<Done, Failure> {
        let plan = started.plan();
        let id = match self.place(plan)? {
            Place::Here(local) => return local.read(started, cancel).await,
            Place::There(id) => id,
        };
        match plan.action.as_deref() {
            Some("exec") => {
                let command = plan
                    .command
                    .as_deref()
                    .ok_or_else(|| Failure::missing("command"))?;
                let done = self.run_command(started, &id, command, cancel).await?;
                Ok(self.with_units(done, &id, units_of(command)).await)
            }
            Some("file") => self.file_there(started, &id, cancel).await,
            Some("tail") => self.tail(started, &id, cancel).await,
            Some("find") => self.find_there(started, &id, cancel).await,
            Some("logs") => self.logs(started, &id, cancel).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    pub(super) async fn system_logs(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        match self.place(started.plan())? {
            Place::Here(local) => local.logs(started, cancel).await,
            Place::There(id) => self.logs(started, &id, cancel).await,
        }
    }

    async fn tail(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let path = path_of(started)?;
        self.is_plain_file(started, id, &path, cancel).await?;
        let lines = arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines));
        let taken_at = Timestamp::now();
        let words = ["tail", "-n", &lines.to_string(), "--", path.as_str()].map(str::to_owned);
        let output = self.raw(started, id, &words, None, cancel).await?;
        if output.exit != Exit::Code(0) {
            return Err(not_read(path.as_str(), &output));
        }
        let data = json!({
            "path": path.as_str(),
            "content": output.stdout.text(),
            "lines": lines,
            "truncated": output.stdout.is_truncated(),
        });
        let mut done = Done::succeeded(data.clone(), "read the end of a file");
        done.output_hash = Some(output.stdout.hash);
        let reading = reading(id, taken_at, data, Vec::new());
        Ok(done.with_reading(reading.with_walls(walls_of(Form::Fixed, &output))))
    }

    /// Makes sure that a path leads to an ordinary file: a device may never end, or act on being opened. And that it leads
    /// to no secret under another name.
    pub(super) async fn is_plain_file(
        &self,
        started: &Started,
        id: &ResourceId,
        path: &FilePath,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let stat = self.ask(started, id, &Probe::Stat(path.clone()), cancel).await?;
        if !stat.is_success() {
            return Err(not_read(path.as_str(), &stat));
        }
        let kind = stat.stdout.text();
        match kind.split('|').next().and_then(kind_word) {
            Some("file") => self.no_hidden_secret(started, id, path, cancel).await,
            other => Err(Failure::invalid(format!(
                "`{path}` is no file but a {}",
                other.unwrap_or("thing of another kind")
            ))
            .detail("path", path.as_str())),
        }
    }

    /// Refuses a link to what holds secrets: the gate saw only its name.
    pub(super) async fn no_hidden_secret(
        &self,
        started: &Started,
        id: &ResourceId,
        path: &FilePath,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let output = self
            .ask(started, id, &Probe::RealPath(path.clone()), cancel)
            .await?;
        if !output.is_success() {
            return Err(not_read(path.as_str(), &output));
        }
        let text = output.stdout.text();
        let real = text.trim_end_matches('\n');
        if real != path.as_str() && interlock_shell::path_holds_secrets(real) {
            return Err(Failure::invalid(format!(
                "`{path}` leads to `{real}`, which holds secrets; ask for that path itself"
            ))
            .detail("path", path.as_str())
            .detail("real_path", real));
        }
        Ok(())
    }

    async fn find_there(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let path = path_of(started)?;
        let taken_at = Timestamp::now();
        let mut words: Vec<String> = [
            "env",
            "LC_ALL=C",
            "find",
            path.as_str(),
            "-xdev",
            "-mindepth",
            "1",
        ]
        .map(str::to_owned)
        .to_vec();
        words.extend(["-maxdepth".to_owned(), self.inner.options.depth.to_string()]);
        if let Some(pattern) = arguments::text(plan, "pattern").filter(|pattern| !pattern.is_empty()) {
            let test = if pattern.contains('/') { "-path" } else { "-name" };
            words.extend([test.to_owned(), glob(pattern)]);
        }
        words.extend(["-exec", "stat", "-c", "%F|%s|%n", "{}", "+"].map(str::to_owned));
        let output = self.raw(started, id, &words, None, cancel).await?;
        let text = output.stdout.text();
        let mut matches: Vec<Value> = text.lines().filter_map(found).collect();
        if matches.is_empty() && !output.is_success() {
            return Err(not_read(path.as_str(), &output));
        }
        let most = count(self.inner.options.entries);
        let truncated = matches.len() > most || output.stdout.is_truncated() || output.exit == Exit::TimedOut;
        matches.truncate(most);
        let data = json!({"path": path.as_str(), "matches": matches, "truncated": truncated});
        let reading = reading(id, taken_at, data.clone(), Vec::new());
        let walls = walls_of(Form::Fixed, &output);
        Ok(Done::succeeded(data, "looked for files").with_reading(reading.with_walls(walls)))
    }

    /// The newest lines of the system's log there, of one unit or of all.
    async fn logs(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let lines = arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines));
        let unit = arguments::text(plan, "unit").map(UnitName::new).transpose()?;
        let mut words = ["journalctl", "--no-pager", "--output=short-iso"]
            .map(str::to_owned)
            .to_vec();
        words.push(format!("--lines={lines}"));
        words.extend(unit.iter().map(|unit| format!("--unit={unit}")));
        words.extend(arguments::text(plan, "since").map(|since| format!("--since={since}")));
        let done = self.run_fixed(started, id, &words, cancel).await?;
        let stderr = done
            .response
            .outcome()
            .ok()
            .and_then(|data| data.get("stderr")?.as_str())
            .unwrap_or("")
            .to_owned();
        if done.exit_code != Some(0) || stderr.contains(NO_JOURNAL) {
            return Err(Failure::failed(
                "it keeps no journal that can be read; look for a log file with action=find under /var/log",
            )
            .exit_code(done.exit_code)
            .detail("stderr", stderr));
        }
        Ok(self.with_units(done, id, unit.into_iter().collect()).await)
    }

    /// Adds to a reading what these units are doing, so that it can verify a write to one of them.
    async fn with_units(&self, mut done: Done, id: &ResourceId, units: Vec<UnitName>) -> Done {
        if let Some(reading) = &mut done.reading {
            for unit in units {
                if let Ok(seen) = self.unit_there(id, &unit).await {
                    reading.observations.extend(seen.observations(&unit));
                }
            }
        }
        done
    }
}

pub(super) fn path_of(started: &Started) -> Result<FilePath, Failure> {
    let path = arguments::needed(started.plan(), "path")?;
    FilePath::new(path)
        .ok_or_else(|| Failure::invalid(format!("`{path}` is no absolute path")).detail("path", path))
}

/// Why a path could not be read, by what a program complained about.
pub(super) fn not_read(path: &str, output: &Output) -> Failure {
    let stderr = output.stderr.text();
    let failure = if is_missing(output) {
        Failure::new(
            interlock_protocol::ErrorCode::NotFound,
            format!("there is no `{path}`"),
        )
    } else {
        Failure::failed(format!("`{path}` cannot be read"))
    };
    failure.detail("path", path).detail("stderr", stderr.trim())
}

/// Whether a program said that there is no such file. That there is no such program has another exit code.
pub(super) fn is_missing(output: &Output) -> bool {
    let stderr = output.stderr.text();
    let last = stderr.trim_end().lines().last().unwrap_or("");
    output.exit == Exit::Code(1)
        && [": No such file or directory", ": Not a directory"]
            .iter()
            .any(|end| last.ends_with(end))
}

/// A pattern in which only `*` and `?` mean more than themselves; a part of a name without them.
fn glob(pattern: &str) -> String {
    let escaped = pattern.replace('\\', "\\\\").replace('[', "\\[");
    if pattern.contains(['*', '?']) {
        escaped
    } else {
        format!("*{escaped}*")
    }
}

/// A line `kind|size|path`.
fn found(line: &str) -> Option<Value> {
    let mut parts = line.splitn(3, '|');
    let kind = kind_word(parts.next()?)?;
    let size: u64 = parts.next()?.parse().ok()?;
    Some(json!({"path": parts.next()?, "type": kind, "size": size}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_on_this_machine() {
        for (pattern, expected) in [
            ("log", "*log*"),
            ("*.log", "*.log"),
            ("a[1]", "*a\\[1]*"),
            ("a\\b", "*a\\\\b*"),
        ] {
            assert_eq!(glob(pattern), expected);
        }
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        assert_eq!(
            found("regular file|12|/a|b"),
            Some(json!({"path": "/a|b", "type": "file", "size": 12}))
        );
        for line in ["", "regular file", "x|1|/a", "regular file|x|/a"] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
