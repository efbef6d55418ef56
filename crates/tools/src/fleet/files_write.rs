//! Writing files inside resources: whole or not at all, with the rights and owner that the file had.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlock_gate::Started;
use interlock_infra::{FilePath, Form, Job, Limits};
use interlock_protocol::{ContentHash, ErrorCode, ResourceId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::{Place, words};
use super::read::{is_missing, path_of};
use crate::Done;
use crate::Failure;
use crate::file;
use crate::local::arguments;
use crate::local::files::patched;

/// What a script says when there is no such file.
const MISSING: i32 = 44;
/// What a script says when it is no ordinary file.
const NO_FILE: i32 = 45;

/// What a script says when a link leads elsewhere; where to is on its error stream.
const ELSEWHERE: i32 = 46;

/// Puts a part of the content next to the file, in a folder of our own that nobody else can reach into. Its arguments: the
/// file, a name of our own, `new` or `more`. The plan names the file itself: a link to another is refused.
const STAGE: &str = r#"set -eu
umask 077
real=$(readlink -f -- "$1") || exit 44
if [ "$real" != "$1" ]; then printf '%s\n' "$real" >&2; exit 46; fi
[ -d "${real%/*}/" ] || exit 44
if [ -e "$real" ] && [ ! -f "$real" ]; then exit 45; fi
own="${real%/*}/.$2"
if [ "$3" = new ]; then rm -rf -- "$own"; mkdir -- "$own"; fi
[ -O "$own" ] && [ ! -L "$own" ]
base64 -d >> "$own/part""#;

/// Puts the content in place of the file, with the rights and the owner that it had.
const PLACE: &str = r#"set -eu
own="${1%/*}/.$2"
[ -O "$own" ] && [ ! -L "$own" ] && [ ! -L "$1" ]
if [ -e "$1" ]; then
  chmod "$(stat -c %a -- "$1")" "$own/part"
  chown -h "$(stat -c %u:%g -- "$1")" "$own/part" 2>/dev/null || [ "$(stat -c %u:%g -- "$1")" = "$(stat -c %u:%g -- "$own/part")" ]
else
  chmod 644 "$own/part"
fi
mv -f -- "$own/part" "$1"
rmdir -- "$own""#;

/// Makes sure that the file still is what the edits were made from: its third argument is the hash of that.
const SAME: &str = r#"[ "$(sha256sum < "$1" | cut -c1-64)" = "$3" ] || exit 47
"#;

/// What a script says when a file changed in the meantime.
const CHANGED: i32 = 47;

/// Adds the content to the end of the file.
const APPEND: &str = r#"set -eu
own="${1%/*}/.$2"
[ -O "$own" ] && [ ! -L "$own" ] && [ ! -L "$1" ]
if [ ! -f "$1" ]; then rm -rf -- "$own"; exit 44; fi
cat -- "$own/part" >> "$1"
rm -rf -- "$own""#;

/// Takes away what was put next to the file.
const CLEAN: &str = r#"rm -rf -- "${1%/*}/.$2""#;

impl Fleet {
    pub(super) async fn edit_file(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let id = match self.place(started.plan())? {
            Place::Here(local) => return local.edit_file(started).await,
            Place::There(id) => id,
        };
        match started.plan().action.as_deref() {
            Some("read") => self.file_there(started, &id, cancel).await,
            Some("write") => self.write_there(started, &id, cancel).await,
            Some("append") => {
                let path = path_of(started)?;
                let content = given_content(started)?;
                let bytes = content.len();
                self.put(started, &id, &path, content.as_bytes(), (APPEND, ""), cancel)
                    .await?;
                let data = json!({"path": path.as_str(), "bytes_added": bytes});
                Ok(Done::succeeded(data, format!("added {bytes} bytes to a file")))
            }
            Some("patch") => self.patch_there(started, &id, cancel).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    pub(super) async fn write_file(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        match self.place(started.plan())? {
            Place::Here(local) => local.write_file(started).await,
            Place::There(id) => self.write_there(started, &id, cancel).await,
        }
    }

    pub(super) async fn delete_file(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let id = match self.place(started.plan())? {
            Place::Here(local) => return local.delete_file(started).await,
            Place::There(id) => id,
        };
        let path = path_of(started)?;
        self.is_plain_file(started, &id, &path, cancel).await?;
        let argv = words(["env", "LC_ALL=C", "rm", "--", path.as_str()]);
        let output = self.raw(started, &id, &argv, None, cancel).await?;
        let stderr = output.stderr.text();
        if output.is_success() {
            let data = json!({"path": path.as_str(), "deleted": true});
            return Ok(Done::succeeded(data, "deleted a file"));
        }
        Err(if is_missing(&output) {
            no_such_file(&path)
        } else {
            Failure::failed(format!("`{path}` cannot be deleted"))
                .detail("path", path.as_str())
                .detail("stderr", stderr.trim())
        })
    }

    async fn write_there(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let path = path_of(started)?;
        let content = given_content(started)?;
        let bytes = content.len();
        let data = json!({
            "path": path.as_str(),
            "bytes_written": bytes,
            "sha256": ContentHash::of(content),
        });
        self.put(started, id, &path, content.as_bytes(), (PLACE, ""), cancel)
            .await?;
        Ok(Done::succeeded(data, format!("wrote a file of {bytes} bytes")))
    }

    /// Replaces parts of a file: read whole, edited here, put in its place only if it did not change in the meantime.
    async fn patch_there(
        &self,
        started: &Started,
        id: &ResourceId,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let path = path_of(started)?;
        let edits = file::edits(started.plan())?;
        let argv = words(["env", "LC_ALL=C", "base64", path.as_str()]);
        // Four letters carry three bytes, and lines end.
        let room = file::MOST_BYTES / 3 * 4 + file::MOST_BYTES / 8;
        let limits = Limits {
            output_bytes: room,
            drain_bytes: room as u64 + 1,
            ..Self::limits(started.plan())
        };
        let job = Job {
            argv: &argv,
            stdin: None,
            sockets: &[],
            stages: &[],
            form: Form::Fixed,
            limits,
        };
        let output = self.inner.infra.run(started, id, job, cancel).await?;
        if output.stdout.is_truncated() || output.exit == interlock_infra::Exit::OutputLimit {
            return Err(Failure::invalid(format!(
                "`{path}` is longer than the {} bytes that can be patched",
                file::MOST_BYTES
            )));
        }
        if !output.is_success() {
            return Err(if is_missing(&output) {
                no_such_file(&path)
            } else {
                Failure::failed(format!("`{path}` cannot be read")).detail("path", path.as_str())
            });
        }
        let letters: Vec<u8> = output
            .stdout
            .bytes
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let before = STANDARD
            .decode(letters)
            .map_err(|_| Failure::failed(format!("`{path}` did not arrive whole")))?;
        let content = file::apply(&before, &edits)?;
        let was = ContentHash::of(&before).to_string();
        let finish = format!("{SAME}{PLACE}");
        self.put(started, id, &path, &content, (&finish, &was), cancel)
            .await?;
        Ok(patched(path.as_str(), &content, edits.len()))
    }

    /// Brings content next to a file in parts, then finishes with one step.
    async fn put(
        &self,
        started: &Started,
        id: &ResourceId,
        path: &FilePath,
        content: &[u8],
        (finish, argument): (&str, &str),
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        // Four letters carry three bytes.
        let room = self.inner.infra.input_room(id).await? / 4 * 3;
        let mut parts: Vec<&[u8]> = content.chunks(room).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        let mut steps = Ok(());
        for (index, part) in parts.into_iter().enumerate() {
            let how = if index == 0 { "new" } else { "more" };
            steps = self
                .step(
                    started,
                    id,
                    path,
                    STAGE,
                    how,
                    Some(&STANDARD.encode(part)),
                    cancel,
                )
                .await;
            if steps.is_err() {
                break;
            }
        }
        if steps.is_ok() {
            steps = self.step(started, id, path, finish, argument, None, cancel).await;
        }
        if steps.is_err() {
            // Nobody is helped by a second complaint.
            let _ = self
                .step(started, id, path, CLEAN, "", None, &CancellationToken::new())
                .await;
        }
        steps
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a script takes what the script takes"
    )]
    async fn step(
        &self,
        started: &Started,
        id: &ResourceId,
        path: &FilePath,
        script: &str,
        how: &str,
        stdin: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let own = format!("interlock-{}", started.permit());
        let argv = words(["sh", "-c", script, "sh", path.as_str(), &own, how]);
        let output = self.raw(started, id, &argv, stdin, cancel).await?;
        match output.exit {
            interlock_infra::Exit::Code(0) => Ok(()),
            interlock_infra::Exit::Code(MISSING) => Err(no_such_file(path)),
            interlock_infra::Exit::Code(NO_FILE) => {
                Err(Failure::invalid(format!("`{path}` is no ordinary file")).detail("path", path.as_str()))
            }
            interlock_infra::Exit::Code(CHANGED) => Err(Failure::failed(format!(
                "`{path}` changed while it was patched; nothing was written. Read it again"
            ))
            .detail("path", path.as_str())),
            interlock_infra::Exit::Code(ELSEWHERE) => {
                let stderr = output.stderr.text();
                let real = stderr.trim_end();
                Err(
                    Failure::invalid(format!("`{path}` leads to `{real}`; name that file itself"))
                        .detail("path", path.as_str())
                        .detail("real_path", real),
                )
            }
            interlock_infra::Exit::Cancelled => {
                Err(Failure::new(ErrorCode::Cancelled, "writing was cancelled"))
            }
            interlock_infra::Exit::TimedOut => {
                Err(Failure::new(ErrorCode::Timeout, "writing did not end in time"))
            }
            interlock_infra::Exit::Code(_)
            | interlock_infra::Exit::Signal
            | interlock_infra::Exit::OutputLimit => {
                Err(Failure::failed(format!("`{path}` cannot be written"))
                    .detail("path", path.as_str())
                    .detail("stderr", output.stderr.text().trim()))
            }
        }
    }
}

fn no_such_file(path: &FilePath) -> Failure {
    Failure::new(
        ErrorCode::NotFound,
        format!("there is no file `{path}`, or no folder for it"),
    )
    .detail("path", path.as_str())
}

fn given_content(started: &Started) -> Result<&str, Failure> {
    arguments::text(started.plan(), "content").ok_or_else(|| Failure::missing("content"))
}
