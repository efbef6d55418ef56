//! The tools that read and write files of this machine.

use interlock_gate::Started;
use interlock_protocol::{ContentHash, ErrorCode, MOST_TAKEN, Observation};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{LocalHost, arguments};
use crate::Done;
use crate::Failure;
use crate::file::{self, Content, Keep};
use crate::options::count;

const MEBIBYTE: f64 = 1024.0 * 1024.0;

impl LocalHost {
    pub(crate) async fn read_file(&self, started: &Started) -> Result<Done, Failure> {
        self.is_meant_by(started.plan())?;
        self.content(started).await
    }

    pub(crate) async fn list_directory(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        let taken_at = Timestamp::now();
        let path = arguments::needed(plan, "path")?.to_owned();
        let data = self
            .blocking(move |host| file::list(host.guard(), &path, count(host.inner.options.entries)))
            .await?;
        Ok(
            Done::succeeded(data.clone(), "listed a folder").with_reading(self.reading(
                taken_at,
                data,
                Vec::new(),
            )),
        )
    }

    pub(crate) async fn edit_file(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        match plan.action.as_deref() {
            Some("read") => self.read_file(started).await,
            Some("write") => self.write_file(started).await,
            Some("append") => {
                self.is_meant_by(plan)?;
                let path = arguments::needed(plan, "path")?.to_owned();
                let content = given_content(started)?;
                let bytes = content.len();
                let data = json!({"path": path, "bytes_added": bytes});
                self.blocking(move |host| file::append(host.guard(), &path, content.as_bytes()))
                    .await?;
                Ok(Done::succeeded(data, format!("added {bytes} bytes to a file")))
            }
            Some("patch") => self.patch_file(started).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    /// Replaces parts of a file. Its other parts, secrets among them, are never shown to anybody for it.
    async fn patch_file(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        let path = arguments::needed(plan, "path")?.to_owned();
        let edits = file::edits(plan)?;
        let count = edits.len();
        let file = path.clone();
        let content = self
            .blocking(move |host| {
                let keep = Keep::Head {
                    bytes: file::MOST_BYTES,
                    hashed: file::MOST_BYTES,
                };
                let content = file::read(host.guard(), &file, keep)?.ok_or_else(|| {
                    Failure::new(ErrorCode::NotFound, format!("there is no file `{file}`"))
                        .detail("path", &*file)
                })?;
                if content.truncated {
                    return Err(Failure::invalid(format!(
                        "`{file}` is longer than the {} bytes that can be patched",
                        file::MOST_BYTES
                    )));
                }
                let patched = file::apply(&content.bytes, &edits)?;
                file::write(host.guard(), &file, &patched)?;
                Ok(patched)
            })
            .await?;
        Ok(patched(&path, &content, count))
    }

    pub(crate) async fn write_file(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        let path = arguments::needed(plan, "path")?.to_owned();
        let content = given_content(started)?;
        let bytes = content.len();
        let hash = ContentHash::of(&content);
        let data = json!({"path": path, "bytes_written": bytes, "sha256": hash});
        self.blocking(move |host| file::write(host.guard(), &path, content.as_bytes()))
            .await?;
        Ok(Done::succeeded(data, format!("wrote a file of {bytes} bytes")))
    }

    pub(crate) async fn delete_file(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        let path = arguments::needed(plan, "path")?.to_owned();
        let data = json!({"path": path, "deleted": true});
        self.blocking(move |host| file::delete(host.guard(), &path))
            .await?;
        Ok(Done::succeeded(data, "deleted a file"))
    }

    /// The beginning of the file that a call names.
    pub(super) async fn content(&self, started: &Started) -> Result<Done, Failure> {
        let options = &self.inner.options;
        let asked = started
            .plan()
            .arguments
            .get("max_size_mb")
            .and_then(Value::as_f64)
            .map_or(usize::MAX, bytes_of);
        let keep = Keep::Head {
            bytes: MOST_TAKEN.min(asked),
            hashed: count(options.hashed_bytes),
        };
        self.content_part(started, keep).await
    }

    /// A part of the file that a call names. That there is no such file is an answer, too: it verifies a deletion.
    pub(super) async fn content_part(&self, started: &Started, keep: Keep) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let path = arguments::needed(started.plan(), "path")?.to_owned();
        let asked = path.clone();
        let content = self
            .blocking(move |host| file::read(host.guard(), &asked, keep))
            .await?;
        let observed = observation(&path, content.as_ref());
        let (data, hash, summary) = match content {
            None => (
                json!({"path": path, "exists": false}),
                None,
                "there is no such file".to_owned(),
            ),
            Some(content) => {
                let summary = format!("read a file of {} bytes", content.total);
                (shown(&path, &content), content.hash, summary)
            }
        };
        let mut done = Done::succeeded(data.clone(), summary);
        done.output_hash = hash;
        Ok(done.with_reading(self.reading(taken_at, data, observed.into_iter().collect())))
    }

    /// The hash that a file will have with this text at its end.
    pub(super) async fn hash_with(&self, path: &str, added: &str) -> Option<ContentHash> {
        let asked = path.to_owned();
        let content = self
            .blocking(move |host| {
                let bytes = count(host.inner.options.hashed_bytes);
                file::read(host.guard(), &asked, Keep::Head { bytes, hashed: bytes })
            })
            .await
            .ok()??;
        let mut bytes = content.bytes;
        bytes.extend_from_slice(added.as_bytes());
        (!content.truncated).then(|| ContentHash::of(bytes))
    }

    /// The whole hash of a file, or that there is none. By code's own question.
    pub(super) async fn observe_file(&self, path: &str) -> Option<(Value, Observation)> {
        let asked = path.to_owned();
        let content = self
            .blocking(move |host| {
                let keep = Keep::Head {
                    bytes: 0,
                    hashed: count(host.inner.options.hashed_bytes),
                };
                file::read(host.guard(), &asked, keep)
            })
            .await
            .ok()?;
        let observed = observation(path, content.as_ref())?;
        let data = match content {
            None => json!({"path": path, "exists": false}),
            Some(content) => json!({
                "path": path,
                "exists": true,
                "total_bytes": content.total,
                "sha256": content.hash,
            }),
        };
        Some((data, observed))
    }
}

/// What a patch did. The hash of the whole content goes into the receipt: it is what must be there afterwards.
pub(crate) fn patched(path: &str, content: &[u8], edits: usize) -> Done {
    let hash = ContentHash::of(content);
    let data = json!({"path": path, "edits": edits, "bytes_written": content.len(), "sha256": hash});
    let mut done = Done::succeeded(data, format!("made {edits} edits in a file"));
    done.output_hash = Some(hash);
    done
}

/// What is known of a file. Of one that was not read to its end nothing is.
fn observation(path: &str, content: Option<&Content>) -> Option<Observation> {
    let hash = match content {
        None => None,
        Some(content) => Some(content.hash?),
    };
    Some(Observation::File {
        path: path.to_owned(),
        hash,
    })
}

fn shown(path: &str, content: &Content) -> Value {
    // A cut may go through a character; that is no sign of binary data.
    let text = String::from_utf8_lossy(&content.bytes);
    let readable = match std::str::from_utf8(&content.bytes) {
        Ok(_) => true,
        Err(error) => content.truncated && error.error_len().is_none(),
    };
    let mut data = json!({
        "path": path,
        "exists": true,
        "content": text,
        "truncated": content.truncated,
        "total_bytes": content.total,
        "modified": content.modified,
    });
    if let Some(hash) = content.hash {
        data["sha256"] = hash.to_string().into();
    }
    if content.real != path {
        data["leads_to"] = content.real.as_str().into();
    }
    if !readable {
        data["not_text"] = "bytes that are no UTF-8 are shown as �".into();
    }
    data
}

fn given_content(started: &Started) -> Result<String, Failure> {
    arguments::text(started.plan(), "content")
        .map(str::to_owned)
        .ok_or_else(|| Failure::missing("content"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the schema has it between 0 and 10, and a cast to an integer stops at its bounds"
)]
fn bytes_of(mebibytes: f64) -> usize {
    (mebibytes * MEBIBYTE) as usize
}
