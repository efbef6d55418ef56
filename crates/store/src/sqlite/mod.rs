//! `SQLite`: one connection that writes, owned by a thread of its own; a few that read.

mod apply;
mod audit;
mod catalogues;
mod covered;
mod digest;
mod disk;
mod fault;
mod feed;
mod frozen;
mod incidents;
mod lists;
mod lookups;
mod migrate;
mod notes;
mod once;
mod open;
mod operations;
mod outline;
mod people;
mod queue;
mod read;
mod retain;
mod schema;
mod seal;
mod switch;
mod trace;
mod usage;
mod used;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use interlock_seal::Keyring;
use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc};

use crate::backend::Opening;
use crate::location::Kind;
use crate::mark::Mark;
use crate::{Error, Location, Open, Options};
use fault::Fault;
use open::{Missing, SchemaCheck};
use seal::NewestSeals;
use writer::{Message, Need, QUEUE, Signing, Task, Unsigned, Writer};

/// The functions that run inside a transaction of the writing thread.
mod write {
    pub(super) use super::apply::apply;
    pub(super) use super::audit::audit;
    pub(super) use super::catalogues::keep_catalogue;
    pub(super) use super::notes::remember;
    pub(super) use super::people::{
        change_user, create_link, create_login, create_token, create_user, extend_login, remove_login,
        remove_logins, remove_user, remove_view, revoke_token, save_view, seen, use_link, used,
    };
    pub(super) use super::queue::{
        claim, claim_next, heartbeat, put_back_idle, release, reopen, request_cancel, resubmit, submit,
        submit_input, take_over,
    };
    pub(super) use super::retain::{purge_some, restore, set_setting, soft_delete, soft_delete_some};
    pub(super) use super::seal::{check, note_altered, stop_without_key};
    pub(super) use super::switch::move_switch;
}

/// The functions that run on a connection that only reads.
mod look {
    pub(super) use super::audit::{audit_entries, verify_audit};
    pub(super) use super::catalogues::catalogue;
    pub(super) use super::feed::{feed_page, last_position, session_events};
    pub(super) use super::lists::{
        calls_on, counts, decisions, filter_options, open_with_fingerprint, session_page,
    };
    pub(super) use super::notes::recall;
    pub(super) use super::open::{integrity, no_orphans};
    pub(super) use super::outline::{
        decided_holds, evidence_about, gone, last_heartbeat, not_run, outline, said_before,
    };
    pub(super) use super::people::{api_token, api_tokens, login, logins, user, user_of, users, views};
    pub(super) use super::read::{
        call, call_of, calls, calls_of_run, cancel_requested, entry_of_hold, entry_of_permit, events,
        evidence, evidence_of, find_hold, find_run, find_session, hold, holds, last_sequence, messages,
        readings, runs, session, sessions, setting, snapshot, timeline, tokens, writers,
    };
    pub(super) use super::retain::purgeable;
    pub(super) use super::schema::changes as schema_changes;
    pub(super) use super::seal::{
        find_head, last_checkpoint, misfit, seal_state, verify_record, verify_sessions,
    };
    pub(super) use super::switch::switch;
    pub(super) use super::trace::{facts, interactions, steps};
    pub(super) use super::usage::{tool_use, usage};
    pub(super) use super::used::{model_health, usage_of};
}

/// How many reads run at the same time.
const READERS: usize = 4;

/// A database in a file or in memory.
pub(crate) struct Sqlite {
    location: Location,
    /// Nothing where it is in memory.
    path: Option<PathBuf>,
    busy: Duration,
    keyring: Option<Keyring>,
    /// Nothing where the store is only read.
    jobs: Option<mpsc::Sender<Message>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Readers that nobody uses at the moment.
    idle: Mutex<Vec<Connection>>,
    readers: Semaphore,
    /// The newest seal of each session, as far as this process has looked.
    newest_seals: Arc<Mutex<NewestSeals>>,
    /// Checking the whole record reads for long. One at a time: the other readers stay free.
    verifying: tokio::sync::Mutex<()>,
    /// Only for noticing what others wrote: the number means something to one connection alone.
    watcher: tokio::sync::Mutex<Option<Connection>>,
}

impl Sqlite {
    pub(crate) fn open(options: &Options, opening: &Opening) -> Result<Self, Error> {
        Self::open_by(options, opening).map_err(|fault| fault.at(&options.location))
    }

    fn open_by(options: &Options, opening: &Opening) -> Result<Self, Fault> {
        let busy = options.busy_timeout;
        let path = match &options.location.0 {
            Kind::File(path) => Some(path.clone()),
            Kind::Memory => None,
        };
        let schema = match opening {
            Opening::With(_) | Opening::Adopting(_) => SchemaCheck::Made,
            Opening::WithoutKey => SchemaCheck::Skipped,
        };
        let conn = match (&path, options.open) {
            (None, _) => Some(open::memory()?),
            (Some(path), Open::ReadWrite) => Some(open::writer(path, busy, Missing::IsMade, schema)?),
            (Some(path), Open::Existing) => Some(open::writer(path, busy, Missing::IsAnError, schema)?),
            (Some(path), Open::ReadOnly) => {
                open::check_readable(path, busy, schema)?;
                None
            }
            (Some(path), Open::ToVerify) => {
                open::check_readable(path, busy, SchemaCheck::Skipped)?;
                None
            }
        };
        let keyring = match opening {
            Opening::With(keyring) => keyring.clone(),
            Opening::Adopting(keyring) => Some(keyring.clone()),
            Opening::WithoutKey => None,
        };
        let (jobs, thread) = match conn {
            Some(conn) => {
                let mark = path.as_deref().and_then(|path| Mark::of(keyring.as_ref(), path));
                match opening {
                    Opening::With(_) => seal::begin(&conn, keyring.as_ref(), mark.as_ref())?,
                    Opening::Adopting(_) => seal::adopt(&conn, keyring.as_ref(), mark.as_ref())?,
                    Opening::WithoutKey => {}
                }
                // Nobody else reaches what is in memory alone.
                let before = match (&keyring, &path) {
                    (Some(_), Some(path)) => Some(open::reader(path, busy)?),
                    _ => None,
                };
                let (jobs, received) = mpsc::channel(QUEUE);
                let signing = keyring.clone().map(|keyring| Signing::new(keyring, mark, before));
                let writer = Writer::new(conn, options.location.clone(), signing);
                let thread = std::thread::Builder::new()
                    .name("store".to_owned())
                    .spawn(move || writer.run(received))
                    .map_err(|error| Fault::Io(error.to_string()))?;
                (Some(jobs), Some(thread))
            }
            None => (None, None),
        };
        Ok(Self {
            location: options.location.clone(),
            path,
            busy,
            keyring,
            jobs,
            thread: Mutex::new(thread),
            idle: Mutex::new(Vec::new()),
            readers: Semaphore::new(READERS),
            newest_seals: Arc::new(Mutex::new(NewestSeals::default())),
            verifying: tokio::sync::Mutex::new(()),
            watcher: tokio::sync::Mutex::new(None),
        })
    }

    pub(crate) const fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    pub(crate) const fn location(&self) -> &Location {
        &self.location
    }

    /// Runs inside a transaction, and answers when it is kept. May run more than once; only once is kept.
    fn write<T, F>(&self, durable: bool, work: F) -> impl Future<Output = Result<T, Error>> + Send
    where
        F: Fn(&Connection) -> Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let need = if durable { Need::Synced } else { Need::Kept };
        self.write_as(need, work, None)
    }

    /// The same, for what is needed as much as this, and how it is done where nothing can be signed.
    fn write_as<T, F>(
        &self,
        need: Need,
        work: F,
        unsigned: Option<Unsigned<T>>,
    ) -> impl Future<Output = Result<T, Error>> + Send
    where
        F: Fn(&Connection) -> Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        // On the heap before anything waits: callers' futures hold a pointer, not all that is to be kept.
        let (job, answer) = Task::of(need, work, unsigned);
        async move {
            let jobs = self.jobs.as_ref().ok_or_else(|| Error::ReadOnly {
                store: self.location.clone(),
            })?;
            jobs.send(Message::Job(job)).await.map_err(|_| Error::Closed)?;
            answer
                .await
                .map_err(|_| Error::Closed)?
                .map_err(|fault| fault.at(&self.location))
        }
    }

    /// Runs on a connection that only reads, and sees one state of the database throughout.
    async fn read<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: Fn(&Connection) -> Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let Some(path) = self.path.clone() else {
            return self.write(false, work).await;
        };
        let _permit = self.readers.acquire().await.map_err(|_| Error::Closed)?;
        let idle = self.lock_idle().pop();
        let busy = self.busy;
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
                .map_err(Fault::from)
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
        answer.map_err(|fault| fault.at(&self.location))
    }

    /// A number that changes when anyone has written.
    pub(crate) async fn data_version(&self) -> Result<i64, Error> {
        let Some(path) = self.path.clone() else {
            return Ok(0);
        };
        let mut watcher = self.watcher.lock().await;
        if self.readers.is_closed() {
            return Err(Error::Closed);
        }
        let (busy, conn) = (self.busy, watcher.take());
        let (version, conn) = tokio::task::spawn_blocking(move || {
            let conn = match conn {
                Some(conn) => conn,
                None => open::reader(&path, busy)?,
            };
            Ok::<_, Fault>((read::data_version(&conn)?, conn))
        })
        .await
        .map_err(|error| Error::Database(error.to_string()))?
        .map_err(|fault| fault.at(&self.location))?;
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

impl Drop for Sqlite {
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
