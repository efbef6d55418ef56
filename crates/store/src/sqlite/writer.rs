//! The one thread that writes. It takes whatever waits, writes it in one transaction, and answers when that is kept.

use std::cell::{Cell, RefCell};

use interlock_seal::Keyring;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::fault::Fault;
use super::{schema, seal};
use crate::mark::Mark;
use crate::{Deed, Error, Location};

/// How many jobs can wait before whoever brings more has to wait.
pub(super) const QUEUE: usize = 256;
/// How many jobs are kept together at most: nobody waits longer than for these.
const GROUP: usize = 128;

/// How much a write is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is kept, unless the power fails at once.
    Kept,
    /// It is on the disk.
    Synced,
    /// The same, and it is done also where nothing can be signed: stopping all writes.
    Always,
}

/// Something to do with the connection that writes. It may be asked more than once, and starts over each time.
pub(super) trait Job: Send {
    fn need(&self) -> Need;
    fn run(&mut self, conn: &Connection) -> Result<(), Fault>;
    /// The same, where nothing can be signed.
    fn run_unsigned(&mut self, conn: &Connection) -> Result<(), Fault>;
    /// What the audit log is to say about it as soon as that can be signed.
    fn owed(&self) -> Option<Owed>;
    fn reply(self: Box<Self>, kept: Result<(), Fault>);
}

/// A job made of a function, and whoever waits for its answer.
pub(super) struct Task<F, T> {
    work: F,
    unsigned: Option<Unsigned<T>>,
    need: Need,
    answer: Option<T>,
    waiting: oneshot::Sender<Result<T, Fault>>,
}

/// An entry of the audit log: what was done, when, and its facts as they are kept.
pub(super) type Owed = (Deed, i64, String);

/// Something to do with the connection that writes.
type Work<T> = Box<dyn Fn(&Connection) -> Result<T, Fault> + Send>;

/// How something is done where nothing can be signed, and what the audit log says about it later.
pub(super) struct Unsigned<T> {
    pub(super) work: Work<T>,
    pub(super) owed: Option<Owed>,
}

impl<F, T> Task<F, T>
where
    F: Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    T: Send + 'static,
{
    pub(super) fn of(
        need: Need,
        work: F,
        unsigned: Option<Unsigned<T>>,
    ) -> (Box<dyn Job>, oneshot::Receiver<Result<T, Fault>>) {
        let (waiting, answer) = oneshot::channel();
        let task = Self {
            work,
            unsigned,
            need,
            answer: None,
            waiting,
        };
        (Box::new(task), answer)
    }
}

impl<F, T> Job for Task<F, T>
where
    F: Fn(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    fn need(&self) -> Need {
        self.need
    }

    fn run(&mut self, conn: &Connection) -> Result<(), Fault> {
        self.answer = Some((self.work)(conn)?);
        Ok(())
    }

    fn run_unsigned(&mut self, conn: &Connection) -> Result<(), Fault> {
        self.answer = Some(match &self.unsigned {
            Some(unsigned) => (unsigned.work)(conn)?,
            None => (self.work)(conn)?,
        });
        Ok(())
    }

    fn owed(&self) -> Option<Owed> {
        self.unsigned.as_ref().and_then(|unsigned| unsigned.owed.clone())
    }

    fn reply(self: Box<Self>, kept: Result<(), Fault>) {
        let Self { answer, waiting, .. } = *self;
        // Where nobody waits any more, what was kept stays kept.
        let _ = waiting.send(kept.and_then(|()| answer.ok_or(Fault::Other(Error::Closed))));
    }
}

/// What the thread is told.
pub(super) enum Message {
    /// Do this.
    Job(Box<dyn Job>),
    /// Do what waits, then end.
    Close,
}

/// What signs what is written.
pub(super) struct Signing {
    keyring: Keyring,
    /// Where the last signed end is kept, outside the store.
    mark: Option<Mark>,
    /// Sees the store as it was before the transaction.
    before: Option<Connection>,
    watch: seal::Watch,
    /// The number of the schema that was found to be Interlock's own.
    schema: Cell<Option<i64>>,
    known: schema::Known,
}

impl Signing {
    pub(super) fn new(keyring: Keyring, mark: Option<Mark>, before: Option<Connection>) -> Self {
        Self {
            keyring,
            mark,
            before,
            watch: seal::Watch::default(),
            schema: Cell::new(None),
            known: schema::Known::default(),
        }
    }
}

impl Signing {
    /// Asked at the beginning of a transaction, when nobody else can write: whether all that runs in it is Interlock's own, and
    /// whether the end of the audit log is what was signed last.
    fn begin(&self, conn: &Connection) -> Result<bool, Fault> {
        // Whatever goes wrong here, the next transaction looks again.
        let checked = self.schema.take();
        let version = schema::version(conn)?;
        if checked != Some(version) {
            // What the connection remembers of the schema is not what was checked: it is read again.
            conn.execute_batch("PRAGMA writable_schema = RESET")?;
        }
        // Each time: the number can be set back.
        self.known.check(conn)?;
        self.schema.set(Some(version));
        seal::note_seals(conn)?;
        self.watch.is_signed(conn, &self.keyring)
    }
}

/// The thread's own.
pub(super) struct Writer {
    pub(super) conn: Connection,
    pub(super) location: Location,
    /// Nothing where the store is not signed.
    signing: Option<Signing>,
    /// Whether commits reach the disk before they return, as the connection is set now.
    full: bool,
    /// What was done while nothing could be signed.
    owed: RefCell<Vec<Owed>>,
}

/// What became of one job of a group that was kept.
type Outcome = Result<(), Fault>;

/// Why a group of jobs was not kept.
enum Failed {
    /// It could not begin: trying again at once would end the same way.
    ToBegin(Fault),
    /// It began. Some of it may be kept alone.
    OnTheWay(Fault),
}

impl Writer {
    pub(super) const fn new(conn: Connection, location: Location, signing: Option<Signing>) -> Self {
        Self {
            conn,
            location,
            signing,
            full: false,
            owed: RefCell::new(Vec::new()),
        }
    }

    /// Until nobody can bring any more.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Message>) {
        let mut group: Vec<Box<dyn Job>> = Vec::with_capacity(GROUP);
        while let Some(first) = jobs.blocking_recv() {
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Job(job) => group.push(job),
                    Message::Close => jobs.close(),
                }
                next = if group.len() < GROUP {
                    jobs.try_recv().ok()
                } else {
                    None
                };
            }
            self.keep(&mut group);
        }
        // The last connection that closes does it too; this one does it also while others read.
        let checkpoint = self
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        if let Err(error) = checkpoint {
            tracing::debug!(%error, "no checkpoint at the end");
        }
    }

    fn keep(&mut self, group: &mut Vec<Box<dyn Job>>) {
        match self.together(group) {
            Ok(outcomes) => {
                for (job, outcome) in group.drain(..).zip(outcomes) {
                    job.reply(outcome);
                }
            }
            Err(Failed::OnTheWay(_)) if group.len() > 1 => {
                for mut job in group.drain(..) {
                    let outcome = match self.together(std::slice::from_mut(&mut job)) {
                        Ok(mut outcomes) => outcomes.pop().unwrap_or(Ok(())),
                        Err(Failed::ToBegin(error) | Failed::OnTheWay(error)) => Err(error),
                    };
                    job.reply(outcome);
                }
            }
            Err(Failed::ToBegin(Fault::Other(error @ Error::SchemaChanged(_)))) => {
                tracing::error!(%error, "nothing is written, except that writes are stopped");
                for mut job in group.drain(..) {
                    let outcome = match job.need() {
                        Need::Always => self.without_signing(&mut *job),
                        Need::Kept | Need::Synced => Err(error.clone().into()),
                    };
                    job.reply(outcome);
                }
            }
            Err(Failed::ToBegin(error) | Failed::OnTheWay(error)) => {
                for job in group.drain(..) {
                    job.reply(Err(error.clone()));
                }
            }
        }
    }

    /// One transaction. A job that is refused leaves the others alone; a storage that fails fails them all.
    ///
    /// A savepoint for each job would copy every page that it touches, and hardly any job is refused after it has
    /// written something. So they are tried without first.
    fn together(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Vec<Outcome>, Failed> {
        self.sync(jobs.iter().any(|job| job.need() != Need::Kept))
            .map_err(Failed::ToBegin)?;
        let mut outcomes = self.attempt(jobs, |writer, job| writer.plainly(job))?;
        if outcomes.is_none() {
            outcomes = self.attempt(jobs, |writer, job| writer.apart(job))?;
        }
        outcomes
            .ok_or_else(|| Failed::OnTheWay(Error::Database("a savepoint did not hold".to_owned()).into()))
    }

    /// One transaction, each job done this way. Nothing where that way does not do.
    fn attempt(
        &self,
        jobs: &mut [Box<dyn Job>],
        way: impl Fn(&Self, &mut dyn Job) -> Result<Option<Outcome>, Fault>,
    ) -> Result<Option<Vec<Outcome>>, Failed> {
        self.execute("BEGIN IMMEDIATE").map_err(Failed::ToBegin)?;
        let log_is_signed = match &self.signing {
            Some(signing) => match signing.begin(&self.conn) {
                Ok(signed) => signed,
                Err(error) => {
                    self.roll_back();
                    return Err(Failed::ToBegin(error));
                }
            },
            None => true,
        };
        let kept = self
            .pay(log_is_signed)
            .and_then(|()| {
                jobs.iter_mut()
                    .map(|job| way(self, &mut **job).transpose())
                    .collect::<Option<Result<Vec<_>, _>>>()
                    .transpose()
            })
            .and_then(|outcomes| {
                if outcomes.is_some() {
                    let signed = match &self.signing {
                        Some(signing) => seal::sign_changes(
                            &self.conn,
                            &signing.keyring,
                            signing.before.as_ref(),
                            log_is_signed,
                        )?,
                        None => None,
                    };
                    self.execute("COMMIT")?;
                    if let (Some(signing), Some(signed)) = (&self.signing, signed) {
                        signing.watch.wrote(signed);
                    }
                    if log_is_signed {
                        self.owed.borrow_mut().clear();
                    }
                    self.follow();
                }
                Ok(outcomes)
            });
        self.roll_back();
        kept.map_err(Failed::OnTheWay)
    }

    /// Writes down who did what while nothing could be signed: this process knows it.
    fn pay(&self, log_is_signed: bool) -> Result<(), Fault> {
        if log_is_signed {
            for (deed, at, details) in self.owed.borrow().iter() {
                super::audit::audit(&self.conn, deed, *at, details)?;
            }
        }
        Ok(())
    }

    /// One transaction of which nothing is signed, whatever else was changed in it: the rows of a session that were changed are
    /// found, because its seal does not fit them.
    fn without_signing(&mut self, job: &mut dyn Job) -> Outcome {
        self.sync(true)?;
        self.execute("BEGIN IMMEDIATE")?;
        let kept = job
            .run_unsigned(&self.conn)
            .and_then(|()| match &self.signing {
                Some(_) => seal::forget_changes(&self.conn),
                None => Ok(()),
            })
            .and_then(|()| self.execute("COMMIT"));
        self.roll_back();
        if kept.is_ok() {
            self.owed.borrow_mut().extend(job.owed());
        }
        kept
    }

    /// The mark follows what is on the disk, and nothing else: after a loss of power it must not be ahead of the store.
    fn follow(&self) {
        let Some(mark) = self.signing.as_ref().and_then(|signing| signing.mark.as_ref()) else {
            return;
        };
        if !self.full {
            return;
        }
        match seal::last_checkpoint(&self.conn) {
            Ok(Some(checkpoint)) => mark.follow(&checkpoint),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = %error.at(&self.location), "the last checkpoint cannot be read");
            }
        }
    }

    /// One job. Nothing where it was refused and has written something already.
    fn plainly(&self, job: &mut dyn Job) -> Result<Option<Outcome>, Fault> {
        let before = self.conn.total_changes();
        match job.run(&self.conn) {
            Err(error) if error.is_storage() || self.conn.is_autocommit() => Err(error),
            Err(_) if self.conn.total_changes() != before => Ok(None),
            outcome => Ok(Some(outcome)),
        }
    }

    /// One job, of which nothing stays if it is refused.
    fn apart(&self, job: &mut dyn Job) -> Result<Option<Outcome>, Fault> {
        self.execute("SAVEPOINT job")?;
        let outcome = job.run(&self.conn);
        match outcome {
            Err(error) if error.is_storage() || self.conn.is_autocommit() => return Err(error),
            Err(_) => self.execute("ROLLBACK TO job")?,
            Ok(()) => {}
        }
        self.execute("RELEASE job")?;
        Ok(Some(outcome))
    }

    fn sync(&mut self, full: bool) -> Result<(), Fault> {
        if self.full != full {
            // Not from the cache: this one takes effect when it is compiled.
            self.conn.execute_batch(if full {
                "PRAGMA synchronous = FULL"
            } else {
                "PRAGMA synchronous = NORMAL"
            })?;
            self.full = full;
        }
        Ok(())
    }

    /// `SQLite` may have done it by itself.
    fn roll_back(&self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            tracing::error!(error = %error.at(&self.location), "rolling back failed");
        }
    }

    fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.conn.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }
}
