//! `SQLite`: one connection that writes, owned by a thread of its own; a few that read.

mod apply;
mod audit;
mod catalogues;
mod digest;
mod fault;
mod feed;
mod lists;
mod migrate;
mod notes;
mod once;
mod open;
mod outline;
mod people;
mod queue;
mod read;
mod retain;
mod seal;
mod switch;
mod trace;
mod usage;
mod used;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use interlock_seal::Keyring;
use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc};

use crate::mark::Mark;
use crate::{Error, Open, Options, Place};
use writer::{Message, QUEUE, Signing, Task, Writer};

pub(crate) use writer::Need;

pub(crate) use apply::{Applied, apply};
pub(crate) use open::{integrity, no_orphans};
pub(crate) use rusqlite::Connection as Handle;

/// The functions that run inside a transaction of the writing thread.
pub(crate) mod write {
    pub(crate) use super::audit::{audit, entry_hash};
    pub(crate) use super::catalogues::keep_catalogue;
    pub(crate) use super::notes::remember;
    pub(crate) use super::people::{
        change_user, create_link, create_login, create_token, create_user, extend_login, remove_login,
        remove_logins, remove_user, remove_view, revoke_token, save_view, seen, use_link, used,
    };
    pub(crate) use super::queue::{
        claim, claim_next, heartbeat, put_back_idle, release, reopen, request_cancel, resubmit, submit,
        submit_input, take_over,
    };
    pub(crate) use super::retain::{
        purge_some, purgeable, restore, set_setting, soft_delete, soft_delete_some,
    };
    pub(crate) use super::seal::{check, note_altered};
    pub(crate) use super::switch::move_switch;
}

/// The functions that run on a connection that only reads.
pub(crate) mod look {
    pub(crate) use super::audit::{audit_entries, verify_audit};
    pub(crate) use super::catalogues::catalogue;
    pub(crate) use super::feed::{all_events, last_position, session_events};
    pub(crate) use super::lists::{
        calls_on, counts, decisions, filter_options, open_with_fingerprint, session_page,
    };
    pub(crate) use super::notes::recall;
    pub(crate) use super::outline::{
        decided_holds, evidence_about, gone, last_heartbeat, outline, said_before,
    };
    pub(crate) use super::people::{api_token, api_tokens, login, logins, user, user_of, users, views};
    pub(crate) use super::read::{
        call_of, calls, calls_of_run, cancel_requested, events, evidence, evidence_of, find_hold, find_run,
        find_session, hold, holds, last_sequence, messages, readings, runs, session, sessions, setting,
        snapshot, timeline, tokens, writers,
    };
    pub(crate) use super::seal::{find_head, last_checkpoint, misfit, seal_state, verify_record};
    pub(crate) use super::switch::switch;
    pub(crate) use super::trace::{facts, interactions, steps};
    pub(crate) use super::usage::{tool_use, usage};
    pub(crate) use super::used::{model_health, usage_of};
}

/// How many reads run at the same time.
const READERS: usize = 4;

/// A database in a file or in memory.
pub(crate) struct Backend {
    path: PathBuf,
    busy: Duration,
    place: Place,
    keyring: Option<Keyring>,
    /// Nothing where the store is only read.
    jobs: Option<mpsc::Sender<Message>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Readers that nobody uses at the moment.
    idle: Mutex<Vec<Connection>>,
    readers: Semaphore,
    /// Only for noticing what others wrote: the number means something to one connection alone.
    watcher: tokio::sync::Mutex<Option<Connection>>,
}

impl Backend {
    pub(crate) fn open(options: &Options, keyring: Option<Keyring>) -> Result<Self, Error> {
        Self::open_by(options, keyring, seal::begin)
    }

    pub(crate) fn adopt(options: &Options, keyring: Keyring) -> Result<Self, Error> {
        Self::open_by(options, Some(keyring), seal::adopt)
    }

    pub(crate) fn open_without_key(options: &Options) -> Result<Self, Error> {
        Self::open_by(options, None, |_, _, _| Ok(()))
    }

    fn open_by(
        options: &Options,
        keyring: Option<Keyring>,
        begin: impl Fn(&Connection, Option<&Keyring>, Option<&Mark>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let path = options
            .path()
            .map_or_else(|| PathBuf::from(":memory:"), Path::to_path_buf);
        let busy = options.busy_timeout;
        let conn = match (&options.place, options.open) {
            (Place::Memory, _) => Some(open::memory().map_err(|error| error.at(&path))?),
            (Place::File(file), Open::ReadWrite) => {
                Some(open::writer(file, busy).map_err(|error| error.at(&path))?)
            }
            (Place::File(file), Open::ReadOnly) => {
                open::check_readable(file, busy).map_err(|error| error.at(&path))?;
                None
            }
        };
        let (jobs, thread) = match conn {
            Some(conn) => {
                let on_disk = options.place != Place::Memory;
                let mark = Mark::of(keyring.as_ref().filter(|_| on_disk), &path);
                begin(&conn, keyring.as_ref(), mark.as_ref()).map_err(|error| error.at(&path))?;
                // Nobody else reaches what is in memory alone.
                let before = match keyring {
                    Some(_) if on_disk => Some(open::reader(&path, busy).map_err(|error| error.at(&path))?),
                    _ => None,
                };
                let (jobs, received) = mpsc::channel(QUEUE);
                let signing = keyring.clone().map(|keyring| Signing::new(keyring, mark, before));
                let writer = Writer::new(conn, path.clone(), signing);
                let thread = std::thread::Builder::new()
                    .name("store".to_owned())
                    .spawn(move || writer.run(received))
                    .map_err(|error| Error::Io {
                        path: path.clone(),
                        reason: error.to_string(),
                    })?;
                (Some(jobs), Some(thread))
            }
            None => (None, None),
        };
        Ok(Self {
            path,
            busy,
            place: options.place.clone(),
            keyring,
            jobs,
            thread: Mutex::new(thread),
            idle: Mutex::new(Vec::new()),
            readers: Semaphore::new(READERS),
            watcher: tokio::sync::Mutex::new(None),
        })
    }

    pub(crate) fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs inside a transaction, and answers when it is kept. May run more than once; only once is kept.
    pub(crate) async fn write<T, F>(&self, durable: bool, work: F) -> Result<T, Error>
    where
        F: Fn(&Connection) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let need = if durable { Need::Synced } else { Need::Kept };
        self.write_as(need, work).await
    }

    /// The same, for what is needed as much as this.
    pub(crate) async fn write_as<T, F>(&self, need: Need, work: F) -> Result<T, Error>
    where
        F: Fn(&Connection) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let jobs = self.jobs.as_ref().ok_or_else(|| Error::ReadOnly {
            path: self.path.clone(),
        })?;
        let (job, answer) = Task::of(need, work);
        jobs.send(Message::Job(job)).await.map_err(|_| Error::Closed)?;
        answer
            .await
            .map_err(|_| Error::Closed)?
            .map_err(|error| error.at(&self.path))
    }

    /// Runs on a connection that only reads, and sees one state of the database throughout.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: Fn(&Connection) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        if self.place == Place::Memory {
            return self.write(false, work).await;
        }
        let _permit = self.readers.acquire().await.map_err(|_| Error::Closed)?;
        let idle = self.lock_idle().pop();
        let (path, busy) = (self.path.clone(), self.busy);
        let (answer, conn) = tokio::task::spawn_blocking(move || {
            let conn = match idle {
                Some(conn) => conn,
                None => match open::reader(&path, busy) {
                    Ok(conn) => conn,
                    Err(error) => return (Err(error), None),
                },
            };
            let answer = conn
                .unchecked_transaction()
                .map_err(Error::from)
                .and_then(|tx| work(&tx));
            (answer, Some(conn))
        })
        .await
        .map_err(|error| Error::Database(error.to_string()))?;
        if let Some(conn) = conn
            && !self.readers.is_closed()
        {
            self.lock_idle().push(conn);
        }
        answer.map_err(|error| error.at(&self.path))
    }

    /// A number that changes when anyone has written.
    pub(crate) async fn version(&self) -> Result<i64, Error> {
        if self.place == Place::Memory {
            return Ok(0);
        }
        let mut watcher = self.watcher.lock().await;
        if self.readers.is_closed() {
            return Err(Error::Closed);
        }
        let (path, busy, conn) = (self.path.clone(), self.busy, watcher.take());
        let (version, conn) = tokio::task::spawn_blocking(move || {
            let conn = match conn {
                Some(conn) => conn,
                None => open::reader(&path, busy)?,
            };
            Ok::<_, Error>((read::data_version(&conn)?, conn))
        })
        .await
        .map_err(|error| Error::Database(error.to_string()))?
        .map_err(|error| error.at(&self.path))?;
        *watcher = Some(conn);
        Ok(version)
    }

    /// Takes nothing more, does what waits, and closes the file.
    pub(crate) async fn close(&self) {
        self.readers.close();
        self.lock_idle().clear();
        self.watcher.lock().await.take();
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Message::Close).await;
        }
        let thread = self.take_thread();
        if let Some(thread) = thread {
            // A thread that panicked has said so already.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_thread(&self) -> Option<JoinHandle<()>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Backend {
    /// Waits until what was brought is kept: a handle that goes away loses nothing.
    fn drop(&mut self) {
        self.lock_idle().clear();
        self.watcher.get_mut().take();
        drop(self.jobs.take());
        if let Some(thread) = self.take_thread() {
            let _ = thread.join();
        }
    }
}
