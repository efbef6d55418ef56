//! Reading files and folders inside resources.

use interlock_gate::Started;
use interlock_infra::{FilePath, Form, Output, Probe};
use interlock_protocol::{ContentHash, MOST_TAKEN, Observation, ResourceId};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::{Place, reading, walls_of, words};
use super::read::{is_missing, not_read, path_of};
use crate::Done;
use crate::Failure;
use crate::options::count;

/// What is known of a file from outside.
struct Entry {
    kind: &'static str,
    size: u64,
    mode: String,
    owner: String,
    modified: Option<Timestamp>,
}

impl Fleet {
    pub(super) async fn read_file(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        match self.place(started.plan())? {
            Place::Here(local) => local.read_file(started).await,
            Place::There(id) => self.file_there(started, &id, cancel).await,
        }
    }

    pub(super) async fn list_directory(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let id = match self.place(started.plan())? {
            Place::Here(local) => return local.list_directory(started).await,
            Place::There(id) => id,
        };
        let path = path_of(started)?;
        let taken_at = Timestamp::now();
        let output = self
            .ask(started, &id, &Probe::Folder(path.clone()), cancel)
            .await?;
        if !output.is_success() {
            return Err(not_read(path.as_str(), &output));
        }
        let text = output.stdout.text();
        let mut entries: Vec<Value> = text.lines().filter_map(listed).collect();
        entries.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
        let total = entries.len();
        let most = count(self.inner.options.entries);
        entries.truncate(most);
        let data = json!({
            "path": path.as_str(),
            "entries": entries,
            "total": total,
            "truncated": total > most || output.stdout.is_truncated(),
        });
        let reading = reading(&id, taken_at, data.clone(), Vec::new());
        let walls = walls_of(Form::Fixed, &output);
        Ok(Done::succeeded(data, "listed a folder").with_reading(reading.with_walls(walls)))
    }

    /// The beginning of the file that a call names. That there is none is an answer, too: it verifies a deletion.
    pub(super) async fn file_there(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let path = path_of(started)?;
        let taken_at = Timestamp::now();
        let stat = self.ask(started, id, &Probe::Stat(path.clone()), cancel).await?;
        let Some(entry) = entry_of(&stat, &path)? else {
            let data = json!({"path": path.as_str(), "exists": false});
            let gone = Observation::File {
                path: path.to_string(),
                hash: None,
            };
            let done = Done::succeeded(data.clone(), "there is no such file");
            let reading = reading(id, taken_at, data, vec![gone]);
            return Ok(done.with_reading(reading.with_walls(walls_of(Form::Fixed, &stat))));
        };
        if entry.kind != "file" {
            return Err(
                Failure::invalid(format!("`{path}` is no file but a {}", entry.kind))
                    .detail("path", path.as_str()),
            );
        }
        self.no_hidden_secret(started, id, &path, cancel).await?;
        let head = words(["head", "-c", &MOST_TAKEN.to_string(), "--", path.as_str()]);
        let hashed = entry.size <= u64::from(self.inner.options.hashed_bytes.get());
        let hash = async {
            if hashed {
                self.hash_there(id, &path).await.ok().flatten()
            } else {
                None
            }
        };
        let (content, hash) = tokio::join!(self.raw(started, id, &head, None, cancel), hash);
        let content = content?;
        if !content.is_success() {
            return Err(not_read(path.as_str(), &content));
        }
        let mut data = json!({
            "path": path.as_str(),
            "exists": true,
            "content": content.stdout.text(),
            "truncated": entry.size > content.stdout.total,
            "total_bytes": entry.size,
            "mode": entry.mode,
            "owner": entry.owner,
            "modified": entry.modified,
        });
        if let Some(hash) = hash {
            data["sha256"] = hash.to_string().into();
        }
        let observed = hash.map(|hash| Observation::File {
            path: path.to_string(),
            hash: Some(hash),
        });
        let mut done = Done::succeeded(data.clone(), format!("read a file of {} bytes", entry.size));
        done.output_hash = hash;
        let reading = reading(id, taken_at, data, observed.into_iter().collect());
        Ok(done.with_reading(reading.with_walls(walls_of(Form::Fixed, &content))))
    }

    /// The hash of a file there, or that there is none. By code's own question.
    pub(super) async fn hash_there(
        &self,
        id: &ResourceId,
        path: &FilePath,
    ) -> Result<Option<ContentHash>, Failure> {
        let output = self.inner.infra.probe(id, &Probe::FileHash(path.clone())).await?;
        if !output.is_success() {
            return if is_missing(&output) {
                Ok(None)
            } else {
                Err(not_read(path.as_str(), &output))
            };
        }
        let text = output.stdout.text();
        // A name with odd characters is announced by a backslash.
        let digits = text.trim_start_matches('\\').get(..64).unwrap_or_default();
        digits
            .parse()
            .map(Some)
            .map_err(|_| Failure::failed(format!("`{path}` has no hash that was understood")))
    }

    /// The hash that a file will have with this text at its end; nothing where that cannot be worked out there.
    pub(super) async fn hash_with(
        &self,
        id: &ResourceId,
        path: &FilePath,
        added: &str,
    ) -> Option<ContentHash> {
        let infra = &self.inner.infra;
        if added.len() > infra.input_room(id).await.ok()? {
            return None;
        }
        let probe = Probe::HashWithInput(path.clone());
        let output = infra.probe_with_input(id, &probe, added).await.ok()?;
        let text = output.stdout.text();
        let digits = text.get(..64).filter(|_| output.is_success())?;
        digits.parse().ok()
    }

    pub(super) async fn ask(
        &self,
        started: &Started,
        id: &ResourceId,
        probe: &Probe,
        cancel: &CancellationToken,
    ) -> Result<Output, Failure> {
        let limits = interlock_infra::Limits {
            output_bytes: 1024 * 1024,
            ..Self::limits(started.plan())
        };
        Ok(self.inner.infra.ask(started, id, probe, limits, cancel).await?)
    }
}

/// What `stat` said: nothing if there is no such file.
fn entry_of(output: &Output, path: &FilePath) -> Result<Option<Entry>, Failure> {
    if !output.is_success() {
        return if is_missing(output) {
            Ok(None)
        } else {
            Err(not_read(path.as_str(), output))
        };
    }
    let text = output.stdout.text();
    entry(text.trim())
        .map(|(entry, _)| Some(entry))
        .ok_or_else(|| Failure::failed(format!("what `{path}` is was not understood")))
}

/// A line `kind|size|mode|owner|group|modified`, and what follows it.
fn entry(line: &str) -> Option<(Entry, &str)> {
    let mut parts = line.splitn(7, '|');
    let kind = kind_word(parts.next()?)?;
    let size = parts.next()?.parse().ok()?;
    let mode: u32 = u32::from_str_radix(parts.next()?, 8).ok()?;
    let owner = format!("{}:{}", parts.next()?, parts.next()?);
    let modified = parts.next()?.parse().ok();
    let entry = Entry {
        kind,
        size,
        mode: format!("{mode:04o}"),
        owner,
        modified: modified.and_then(|seconds| Timestamp::from_second(seconds).ok()),
    };
    Some((entry, parts.next().unwrap_or("")))
}

fn listed(line: &str) -> Option<Value> {
    let (entry, path) = entry(line)?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(json!({
        "name": name,
        "type": entry.kind,
        "size": entry.size,
        "mode": entry.mode,
        "owner": entry.owner,
        "modified": entry.modified,
    }))
}

/// Our word for what `stat` calls a kind of file.
pub(super) fn kind_word(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "regular file" | "regular empty file" => "file",
        "directory" => "folder",
        "symbolic link" => "link",
        "fifo" => "pipe",
        "socket" => "socket",
        "block special file" | "character special file" => "device",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_from_what_stat_prints() {
        let line = "regular file|12|644|root|adm|1763190000|/var/log/a|b";
        let shown = listed(line).unwrap();
        assert_eq!(
            shown,
            json!({"name": "a|b", "type": "file", "size": 12, "mode": "0644", "owner": "root:adm",
                   "modified": "2025-11-15T07:00:00Z"})
        );
        for line in [
            "",
            "regular file|x|644|a|b|1|/x",
            "weird|1|644|a|b|1|/x",
            "regular file|1",
        ] {
            assert_eq!(listed(line), None, "{line}");
        }
    }
}
