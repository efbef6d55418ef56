//! The handle: what others call. No type of a database leaves this crate.

use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{Event, EventBody, Sequence, SessionId, Status, UserId, WorkerId};
use interlock_seal::Keyring;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::watch;

use crate::backend::{Backend, Opening, on};
use crate::prepare::{event_id, prepare};
use crate::{
    Batch, Cancelled, Claim, Concurrency, Deed, Error, Exposure, Kept, Location, NewSession, Options,
    QueueLimits, Retained, Retention, SealState, Session, Submitted,
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

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("location", self.location())
            .finish_non_exhaustive()
    }
}

/// What `append` came to, as a backend says it.
pub(crate) struct Applied {
    /// The place of the last event of the batch in its session.
    pub(crate) last_event: i64,
    /// The place of the event that says that the session waits again.
    pub(crate) went_on: Option<i64>,
    /// Whether there may be something for a worker to do.
    pub(crate) wakes: bool,
}

impl Store {
    /// Opens a store, makes it if it is not there, and brings it up to date. Needs no runtime, and blocks while it does:
    /// together with dropping the last handle the only operation that does.
    ///
    /// Nothing is signed. A store that is signed can only be opened to be read.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Self::open_by(options, &Opening::With(None))
    }

    /// The same, with the keys that sign what is written and check what is read.
    pub fn open_signed(options: &Options, keyring: Keyring) -> Result<Self, Error> {
        Self::open_by(options, &Opening::With(Some(keyring)))
    }

    /// The same, for a store that is known to be older than signing: its sessions count as older from then on.
    pub fn adopt(options: &Options, keyring: Keyring) -> Result<Self, Error> {
        Self::open_by(options, &Opening::Adopting(keyring))
    }

    /// The same, also where the store is signed and its key cannot be had: only for stopping writes. The next process with
    /// the key signs what was done.
    pub fn open_without_key(options: &Options) -> Result<Self, Error> {
        Self::open_by(options, &Opening::WithoutKey)
    }

    fn open_by(options: &Options, opening: &Opening) -> Result<Self, Error> {
        Ok(Self {
            backend: Arc::new(Backend::open(options, opening)?),
            work: Arc::new(watch::Sender::new(0)),
            told: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        self.backend.location()
    }

    /// Whether a write can be kept: makes one, synced to the disk.
    pub async fn check_write(&self) -> Result<(), Error> {
        on!(self, check_write())
    }

    /// How many bytes can still be written where the store is; nothing where that is not known.
    pub async fn free_bytes(&self) -> Option<u64> {
        on!(self, free_bytes())
    }

    /// How many bytes the store takes; nothing where that is not known. Also answers for a closed store.
    pub async fn size_bytes(&self) -> Option<u64> {
        on!(self, size_bytes())
    }

    /// Whether other users of this machine can read the store; nothing where it is not on this machine.
    pub async fn exposure(&self) -> Option<Exposure> {
        on!(self, exposure())
    }

    /// Takes nothing more, keeps what waits, and closes the store. Other handles of the same store then answer
    /// [`Error::Closed`].
    pub async fn close(&self) {
        on!(self, close());
    }

    /// Looks at every page and every row's constraints. Slow for a large store.
    pub async fn integrity(&self) -> Result<(), Error> {
        on!(self, integrity())
    }

    /// Keeps a batch: all of it or nothing. Whoever stops waiting for the answer does not know which.
    ///
    /// A status other than `in_progress` and `cancelling` ends the claim. A decided hold in a batch without a
    /// claim puts a held session back into the queue; the event that says so comes last in [`Kept`].
    pub async fn append(&self, batch: Batch) -> Result<Kept, Error> {
        let (prepared, unplaced) = prepare(batch)?;
        let (session, at) = (unplaced.session().clone(), unplaced.at());
        let applied = on!(self, append(prepared));
        let Applied {
            last_event,
            went_on,
            wakes,
        } = self.met(at, applied).await?;
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
        let submitted = on!(self, submit(session, *limits))?;
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
        self.submit_input_with(session, (input.into(), None), limits, now, None)
            .await
    }

    /// The same, with what differs from the configuration from here on, and with what the audit log says about it: both or
    /// neither.
    pub async fn submit_input_with(
        &self,
        session: &SessionId,
        (input, options): (String, Option<&Value>),
        limits: &QueueLimits,
        now: Timestamp,
        deed: Option<Deed>,
    ) -> Result<(), Error> {
        let next = (input, options.map(Value::to_string));
        let submitted = on!(self, submit_input(session, next, *limits, now, deed));
        self.met(now, submitted).await?;
        self.wake();
        Ok(())
    }

    /// A held session waits for a worker again. One that waits already, or is worked on, stays as it is.
    pub async fn resubmit(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        on!(self, resubmit(session, now))?;
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
        let next = on!(self, claim_next(worker, now, limits))?;
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
        let claim = on!(self, claim(session, worker, now));
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
        let reopened = on!(self, reopen(session, worker, now));
        let reopened = self.met(now, reopened).await?;
        self.tell();
        Ok(reopened)
    }

    /// Whether a session can be worked with: [`Error::Altered`] if its rows are not what was signed, which the audit log says
    /// from then on.
    pub async fn check_session(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        self.session(session).await?;
        let checked = match self.seal_of(session).await? {
            SealState::Altered { what } => Err(Error::Altered {
                session: session.clone(),
                what,
            }),
            SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => Ok(()),
        };
        self.met(now, checked).await
    }

    /// A session that was changed outside Interlock, and refused for that, is in the audit log.
    async fn met<T>(&self, now: Timestamp, done: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Altered { session, what }) = &done {
            tracing::error!(%session, what, "the record of a session was changed outside Interlock; it is refused");
            on!(self, note_altered(session, what, now))?;
        }
        done
    }

    /// This worker is alive.
    pub async fn heartbeat(&self, worker: &WorkerId, now: Timestamp) -> Result<(), Error> {
        on!(self, heartbeat(worker, now))
    }

    /// Ends a claim where the session stands now. Does nothing where a batch with a status has ended it already.
    pub async fn release(&self, claim: &Claim, status: Status, now: Timestamp) -> Result<(), Error> {
        on!(self, release(claim, status, now))?;
        self.wake();
        Ok(())
    }

    /// What workers left that were not heard of for so long goes back to the queue; their claims end.
    pub async fn take_over(&self, now: Timestamp, stale_after: Duration) -> Result<Vec<SessionId>, Error> {
        let taken = on!(self, take_over(now, before(now, stale_after)))?;
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
        let back = on!(self, put_back_idle(worker, running, now, before(now, idle)))?;
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
        let cancelled = on!(self, request_cancel(session, by, now))?;
        self.wake();
        Ok(cancelled)
    }

    /// Deletes an ended session for people. It is kept until retention removes it.
    pub async fn soft_delete(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        on!(self, soft_delete(session, now))
    }

    /// Takes back a deletion.
    pub async fn restore(&self, session: &SessionId) -> Result<(), Error> {
        on!(self, restore(session))
    }

    /// Forgets what is old enough, in steps so small that others hardly wait.
    pub async fn retain(&self, retention: &Retention, now: Timestamp) -> Result<Retained, Error> {
        let before = |days: u32| {
            let long = DAY.checked_mul(i32::try_from(days).unwrap_or(i32::MAX));
            let at = long.and_then(|long| now.checked_sub(long).ok());
            at.unwrap_or(Timestamp::UNIX_EPOCH)
        };
        let mut retained = Retained::default();
        if let Some(days) = retention.sessions_days {
            loop {
                let some = on!(self, soft_delete_some(before(days), now))?;
                retained.soft_deleted += some;
                if some == 0 {
                    break;
                }
            }
        }
        if let Some(days) = retention.purge_days {
            while on!(self, purge_one(before(days)))? {
                retained.purged += 1;
            }
            while on!(self, purge_incidents(before(days)))? > 0 {}
        }
        Ok(retained)
    }

    /// Keeps a setting: the kill switch and the like.
    pub async fn set_setting(&self, name: impl Into<String>, value: impl Into<String>) -> Result<(), Error> {
        on!(self, set_setting(name.into(), value.into()))
    }

    /// There may be something for a worker to do, and something was told.
    pub(crate) fn wake(&self) {
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
fn before(now: Timestamp, long: Duration) -> Timestamp {
    let long = SignedDuration::try_from(long).unwrap_or(SignedDuration::MAX);
    now.checked_sub(long).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Store {
    /// A number that changes when anyone has written, in this process or in another.
    pub(crate) async fn data_version(&self) -> Result<i64, Error> {
        on!(self, data_version())
    }

    /// Whether someone asked for a session to be stopped.
    pub async fn cancel_requested(&self, session: &SessionId) -> Result<bool, Error> {
        on!(self, cancel_requested(session))
    }
}
