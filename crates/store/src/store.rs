//! The handle: what others call. No type of a database leaves this room.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{Event, EventBody, Sequence, SessionId, Status, UserId, WorkerId};
use interlock_seal::Keyring;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::watch;

use crate::prepare::{event_id, nanoseconds, prepare};
use crate::sqlite::{self, Applied, Backend, look, write};
use crate::{
    Batch, Cancelled, Claim, Concurrency, Error, Kept, NewSession, Options, QueueLimits, Retained, Retention,
    Session, Submitted,
};

/// How often other processes are looked for.
pub(crate) const POLL: Duration = Duration::from_millis(250);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Everything that is kept. Cheap to clone; the last one that goes away waits until what was brought is kept.
#[derive(Clone)]
pub struct Store {
    pub(crate) backend: Arc<Backend>,
    /// Counts what may have given a worker something to do.
    pub(crate) work: Arc<watch::Sender<u64>>,
    /// Counts what this process may have told as an event.
    told: Arc<watch::Sender<u64>>,
}

/// The setting that a check of the store writes.
const WRITE_CHECK: &str = "write_check";
/// How much it writes: more than a page, so that it needs room of its own.
const WRITE_CHECK_BYTES: usize = 16 * 1024;

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store, makes it if it is not there, and brings it up to date. Blocks while it does, and needs no
    /// runtime; everything else here does.
    ///
    /// Nothing is signed. A store that is signed can only be opened to be read.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Self::open_with(options, None)
    }

    /// The same, with the keys that sign what is written and check what is read.
    pub fn open_signed(options: &Options, keyring: Keyring) -> Result<Self, Error> {
        Self::open_with(options, Some(keyring))
    }

    /// The same, for a store that is known to be older than signing: its sessions count as older from then on.
    pub fn adopt(options: &Options, keyring: Keyring) -> Result<Self, Error> {
        Ok(Self {
            backend: Arc::new(Backend::adopt(options, keyring)?),
            work: Arc::new(watch::Sender::new(0)),
            told: Arc::new(watch::Sender::new(0)),
        })
    }

    /// The same, also where the store is signed and its key cannot be had: only for stopping writes. The next process with
    /// the key signs what was done.
    pub fn open_without_key(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            backend: Arc::new(Backend::open_without_key(options)?),
            work: Arc::new(watch::Sender::new(0)),
            told: Arc::new(watch::Sender::new(0)),
        })
    }

    fn open_with(options: &Options, keyring: Option<Keyring>) -> Result<Self, Error> {
        Ok(Self {
            backend: Arc::new(Backend::open(options, keyring)?),
            work: Arc::new(watch::Sender::new(0)),
            told: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.backend.path()
    }

    /// Whether a write can be kept: makes one, synced to the disk.
    pub async fn check_write(&self) -> Result<(), Error> {
        self.backend
            .write(true, move |conn| {
                write::set_setting(conn, WRITE_CHECK, &"x".repeat(WRITE_CHECK_BYTES))
            })
            .await
    }

    /// Takes nothing more, keeps what waits, and closes the file. Other handles of the same store then answer
    /// [`Error::Closed`].
    pub async fn close(&self) {
        self.backend.close().await;
    }

    /// Looks at every page and every row's constraints. Slow for a large file.
    pub async fn integrity(&self) -> Result<(), Error> {
        self.backend
            .read(|conn| {
                sqlite::integrity(conn, "PRAGMA integrity_check(10)")?;
                sqlite::no_orphans(conn)
            })
            .await
    }

    /// Keeps a batch: all of it or nothing. Whoever stops waiting for the answer does not know which.
    ///
    /// A status other than `in_progress` and `cancelling` ends the claim. A decided hold in a batch without a
    /// claim puts a held session back into the queue; the event that says so comes last in [`Kept`].
    pub async fn append(&self, batch: Batch) -> Result<Kept, Error> {
        let (prepared, unplaced) = prepare(batch)?;
        let (session, at) = (unplaced.session().clone(), unplaced.at());
        let durable = prepared.durable;
        // What a person does to a session is about what they were shown: its rows must be what was signed.
        let check = (prepared.claim.is_none())
            .then(|| self.backend.keyring().cloned())
            .flatten();
        let checked = session.clone();
        let applied = self
            .backend
            .write(durable, move |conn| {
                if check.is_some() {
                    write::check(conn, check.as_ref(), &checked)?;
                }
                sqlite::apply(conn, &prepared)
            })
            .await;
        let Applied {
            last_event,
            went_on,
            wakes,
        } = self.met(nanoseconds(at)?, applied).await?;
        if wakes {
            self.wake();
        }
        if last_event > 0 {
            self.tell();
        }
        let mut events = unplaced.place(last_event.unsigned_abs());
        if let Some(place) = went_on {
            events.push(Event {
                id: event_id(&session, place.unsigned_abs()),
                session,
                sequence: Sequence::new(place.unsigned_abs()),
                at,
                stage: None,
                execution: None,
                body: EventBody::SessionStatus {
                    status: Status::Pending,
                },
            });
        }
        Ok(Kept { events })
    }

    /// Puts a session into the queue, and tells it as the session's first event.
    pub async fn submit(&self, session: NewSession, limits: &QueueLimits) -> Result<Submitted, Error> {
        let limits = *limits;
        let submitted = self
            .backend
            .write(true, move |conn| write::submit(conn, &session, limits))
            .await?;
        self.wake();
        Ok(submitted)
    }

    /// Gives an ended session its next input: it waits for a worker again.
    pub async fn submit_input(
        &self,
        session: &SessionId,
        input: impl Into<String>,
        limits: &QueueLimits,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.next_input(session, (input.into(), None), limits, now).await
    }

    /// The same, with what differs from the configuration from here on.
    pub async fn submit_input_with(
        &self,
        session: &SessionId,
        input: impl Into<String>,
        options: &Value,
        limits: &QueueLimits,
        now: Timestamp,
    ) -> Result<(), Error> {
        let next = (input.into(), Some(options.to_string()));
        self.next_input(session, next, limits, now).await
    }

    async fn next_input(
        &self,
        session: &SessionId,
        (input, options): (String, Option<String>),
        limits: &QueueLimits,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (session, limits, now) = (session.clone(), *limits, nanoseconds(now)?);
        let keyring = self.backend.keyring().cloned();
        let submitted = self
            .backend
            .write(true, move |conn| {
                write::check(conn, keyring.as_ref(), &session)?;
                write::submit_input(conn, &session, (&input, options.as_deref()), limits, now)
            })
            .await;
        self.met(now, submitted).await?;
        self.wake();
        Ok(())
    }

    /// A held session waits for a worker again. One that waits already, or is worked on, stays as it is.
    pub async fn resubmit(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        let (session, now) = (session.clone(), nanoseconds(now)?);
        self.backend
            .write(true, move |conn| write::resubmit(conn, &session, now))
            .await?;
        self.wake();
        Ok(())
    }

    /// The next session to work on: highest priority first, then the oldest. Nothing where none waits or enough
    /// are worked on; counting and claiming are one step, for every process.
    pub async fn claim_next(
        &self,
        worker: &WorkerId,
        now: Timestamp,
        limits: Concurrency,
    ) -> Result<Option<(Claim, Session)>, Error> {
        let (worker, now) = (worker.clone(), nanoseconds(now)?);
        let keyring = self.backend.keyring().cloned();
        let next = self
            .backend
            .write(false, move |conn| {
                write::claim_next(conn, &worker, now, limits, keyring.as_ref())
            })
            .await?;
        if next.is_some() {
            self.tell();
        }
        Ok(next)
    }

    /// One particular session that waits for a worker or for a human.
    pub async fn claim(
        &self,
        session: &SessionId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<Claim, Error> {
        let (session, worker, now) = (session.clone(), worker.clone(), nanoseconds(now)?);
        let keyring = self.backend.keyring().cloned();
        let claim = self
            .backend
            .write(false, move |conn| {
                write::check(conn, keyring.as_ref(), &session)?;
                write::claim(conn, &session, &worker, now)
            })
            .await;
        let claim = self.met(now, claim).await?;
        self.tell();
        Ok(claim)
    }

    /// As [`Store::claim`], and also a session that has ended: for what a person does in it by hand. Says where it
    /// stood.
    pub async fn reopen(
        &self,
        session: &SessionId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<(Claim, Status), Error> {
        let (session, worker, now) = (session.clone(), worker.clone(), nanoseconds(now)?);
        let keyring = self.backend.keyring().cloned();
        let reopened = self
            .backend
            .write(false, move |conn| {
                write::check(conn, keyring.as_ref(), &session)?;
                write::reopen(conn, &session, &worker, now)
            })
            .await;
        let reopened = self.met(now, reopened).await?;
        self.tell();
        Ok(reopened)
    }

    /// A session that was changed outside Interlock, and refused for that, is in the audit log.
    async fn met<T>(&self, now: i64, done: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Altered { session, what }) = &done {
            tracing::error!(%session, what, "the record of a session was changed outside Interlock; it is refused");
            let (session, what) = (session.clone(), what.clone());
            self.backend
                .write(true, move |conn| {
                    write::note_altered(conn, session.as_str(), &what, now)
                })
                .await?;
        }
        done
    }

    /// This worker is alive.
    pub async fn heartbeat(&self, worker: &WorkerId, now: Timestamp) -> Result<(), Error> {
        let (worker, now) = (worker.clone(), nanoseconds(now)?);
        self.backend
            .write(false, move |conn| write::heartbeat(conn, &worker, now))
            .await
    }

    /// Ends a claim where the session stands now. Does nothing where a batch with a status has ended it already.
    pub async fn release(&self, claim: &Claim, status: Status, now: Timestamp) -> Result<(), Error> {
        let (claim, now) = (claim.clone(), nanoseconds(now)?);
        self.backend
            .write(true, move |conn| write::release(conn, &claim, status, now))
            .await?;
        self.wake();
        Ok(())
    }

    /// What workers left that were not heard of for so long goes back to the queue; their claims end.
    pub async fn take_over(&self, now: Timestamp, stale_after: Duration) -> Result<Vec<SessionId>, Error> {
        let (now, stale) = (nanoseconds(now)?, before(now, stale_after)?);
        let taken = self
            .backend
            .write(true, move |conn| write::take_over(conn, now, stale))
            .await?;
        if !taken.is_empty() {
            self.wake();
        }
        Ok(taken)
    }

    /// What this worker has, is not running, and has not touched for so long goes back to the queue. For work that
    /// broke off because the storage failed: its worker lives, so nobody would take it over.
    pub async fn put_back_idle(
        &self,
        worker: &WorkerId,
        running: &[SessionId],
        now: Timestamp,
        idle: Duration,
    ) -> Result<Vec<SessionId>, Error> {
        let (now, since) = (nanoseconds(now)?, before(now, idle)?);
        let (worker, running) = (worker.clone(), running.to_vec());
        let back = self
            .backend
            .write(true, move |conn| {
                write::put_back_idle(conn, &worker, &running, now, since)
            })
            .await?;
        if !back.is_empty() {
            self.wake();
        }
        Ok(back)
    }

    /// Asks for a session to be stopped, wherever it stands.
    pub async fn request_cancel(
        &self,
        session: &SessionId,
        by: Option<&UserId>,
        now: Timestamp,
    ) -> Result<Cancelled, Error> {
        let (session, by, now) = (session.clone(), by.cloned(), nanoseconds(now)?);
        let cancelled = self
            .backend
            .write(true, move |conn| {
                write::request_cancel(conn, &session, by.as_ref(), now)
            })
            .await?;
        self.wake();
        Ok(cancelled)
    }

    /// Deletes an ended session for people. It is kept until retention removes it.
    pub async fn soft_delete(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        let (session, now) = (session.clone(), nanoseconds(now)?);
        self.backend
            .write(false, move |conn| write::soft_delete(conn, &session, now))
            .await
    }

    /// Takes back a deletion.
    pub async fn restore(&self, session: &SessionId) -> Result<(), Error> {
        let session = session.clone();
        self.backend
            .write(false, move |conn| write::restore(conn, &session))
            .await
    }

    /// Forgets what is old enough, in steps so small that others hardly wait.
    pub async fn retain(&self, retention: &Retention, now: Timestamp) -> Result<Retained, Error> {
        let before = |days: u32| {
            let long = DAY.checked_mul(i32::try_from(days).unwrap_or(i32::MAX));
            let at = long.and_then(|long| now.checked_sub(long).ok());
            nanoseconds(at.unwrap_or(Timestamp::UNIX_EPOCH))
        };
        let mut retained = Retained::default();
        let today = nanoseconds(now)?;
        if let Some(days) = retention.sessions_days {
            let before = before(days)?;
            loop {
                let some = self
                    .backend
                    .write(false, move |conn| write::soft_delete_some(conn, before, today))
                    .await?;
                retained.soft_deleted += some;
                if some == 0 {
                    break;
                }
            }
        }
        if let Some(days) = retention.purge_days {
            let before = before(days)?;
            let next = move |conn: &sqlite::Handle| write::purgeable(conn, before);
            while let Some(key) = self.backend.read(next).await? {
                let purge = move |conn: &sqlite::Handle| write::purge_some(conn, key, before);
                while !self.backend.write(false, purge).await? {}
                retained.purged += 1;
            }
        }
        Ok(retained)
    }

    /// Keeps a setting: the kill switch and the like.
    pub async fn set_setting(&self, name: impl Into<String>, value: impl Into<String>) -> Result<(), Error> {
        let (name, value) = (name.into(), value.into());
        self.backend
            .write(true, move |conn| write::set_setting(conn, &name, &value))
            .await
    }

    /// There may be something for a worker to do, and something was told.
    fn wake(&self) {
        self.work.send_modify(|count| *count = count.wrapping_add(1));
        self.tell();
    }

    /// Something was told.
    fn tell(&self) {
        self.told.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }
}

/// So long before a moment.
fn before(now: Timestamp, long: Duration) -> Result<i64, Error> {
    let long = SignedDuration::try_from(long).unwrap_or(SignedDuration::MAX);
    nanoseconds(now.checked_sub(long).unwrap_or(Timestamp::UNIX_EPOCH))
}

impl Store {
    /// A number that changes when anyone has written, in this process or in another.
    pub(crate) async fn data_version(&self) -> Result<i64, Error> {
        self.backend.version().await
    }

    pub(crate) async fn look<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: Fn(&sqlite::Handle) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        self.backend.read(work).await
    }

    /// Whether someone asked for a session to be stopped.
    pub async fn cancel_requested(&self, session: &SessionId) -> Result<bool, Error> {
        let session = session.clone();
        self.look(move |conn| look::cancel_requested(conn, &session))
            .await
    }
}
