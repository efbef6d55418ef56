//! Works on a session in this process, shows what happens, asks whoever is there about holds, and stops when told to.

use std::time::Duration;

use interlock_engine::{Engine, Error as EngineError, Queue};
use interlock_gate::Hold;
use interlock_protocol::{Sequence, SessionId, Status};
use interlock_store::{Error as StoreError, Holds};
use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::Ending;
use crate::assemble::Assembled;
use crate::decide::{self, Decided};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::keyboard::Keyboard;
use crate::progress::Progress;
use crate::report::events;

/// How often this process says that it lives, and looks whether someone wants a session stopped.
const BEAT: Duration = Duration::from_secs(1);
/// How often the record is looked at when another process does the work.
const FOLLOW: Duration = Duration::from_millis(200);
const PAGE: u32 = 500;

/// Works on sessions for one command.
pub(crate) struct Driver<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) assembled: &'a Assembled,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
    pub(crate) keyboard: Keyboard,
}

/// Says that this process lives, until it is dropped.
struct Beat(JoinHandle<()>);

impl Beat {
    fn start(engine: Engine, queue: Queue) -> Self {
        Self(tokio::spawn(async move {
            let mut every = tokio::time::interval(BEAT);
            loop {
                every.tick().await;
                if let Err(error) = engine.beat(&queue).await {
                    tracing::warn!(%error, "the queue could not be looked after");
                }
            }
        }))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a status is an end.
pub(crate) const fn is_end(status: Status) -> bool {
    match status {
        Status::Completed | Status::Unverified | Status::Failed | Status::Cancelled | Status::TimedOut => {
            true
        }
        Status::Pending | Status::InProgress | Status::Held | Status::Cancelling => false,
    }
}

/// The exit code of a status: only what completed is done.
pub(crate) const fn ending(status: Status) -> Ending {
    match status {
        Status::Completed => Ending::Done,
        Status::Pending
        | Status::InProgress
        | Status::Held
        | Status::Cancelling
        | Status::Unverified
        | Status::Failed
        | Status::Cancelled
        | Status::TimedOut => Ending::Unsuccessful,
    }
}

/// Someone wants this to end: at the keyboard, by a signal, or by closing the terminal.
#[derive(Debug)]
pub(crate) struct Interrupt {
    keyboard: Signal,
    terminate: Signal,
    /// Closing the terminal. Where that signal means something else, nothing.
    hang_up: Option<Signal>,
}

impl Interrupt {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            hang_up: Some(signal(SignalKind::hangup())?),
            ..Self::of_service()?
        })
    }

    /// For a process that reloads its configuration when it gets the signal HUP.
    pub(crate) fn of_service() -> Result<Self, Failure> {
        Ok(Self {
            keyboard: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: None,
        })
    }

    /// Until it is so.
    pub(crate) async fn recv(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.keyboard.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
    }
}

impl<'a> Driver<'a> {
    pub(crate) fn new(globals: &'a Globals, assembled: &'a Assembled) -> Result<Self, Failure> {
        Ok(Self {
            globals,
            assembled,
            progress: Progress::new(globals),
            interrupt: Interrupt::new()?,
            keyboard: Keyboard::new(),
        })
    }

    /// Works until the session ends, or waits for someone who is not here.
    pub(crate) async fn work_to_end(&mut self, session: &SessionId) -> Result<Status, Failure> {
        loop {
            let status = self.work(session).await?;
            if status != Status::Held {
                return Ok(status);
            }
            let open = self.open_holds(session).await?;
            if open.is_empty() {
                // Decided in the meantime, by someone else or by the clock.
                continue;
            }
            if !self.globals.can_ask() {
                return Ok(status);
            }
            for hold in open {
                match decide::ask(self, &hold).await? {
                    Decided::Yes | Decided::No | Decided::Elsewhere => {}
                    Decided::Later => return Ok(status),
                    Decided::Cancelled => {
                        let store = self.assembled.store();
                        let status = store.session(session).await?.status;
                        if is_end(status) {
                            return Ok(status);
                        }
                    }
                }
            }
        }
    }

    /// The holds of a session that nobody has decided.
    pub(crate) async fn open_holds(&self, session: &SessionId) -> Result<Vec<Hold>, Failure> {
        let now = Timestamp::now();
        let holds = self.assembled.store().holds(Holds::Of(session.clone())).await?;
        Ok(holds.into_iter().filter(|hold| hold.is_open(now)).collect())
    }

    /// Works until the session ends or pauses.
    pub(crate) async fn work(&mut self, session: &SessionId) -> Result<Status, Failure> {
        let before = events(self.assembled.store(), session).await?;
        self.progress.recall(&before);
        self.progress.begin();
        let status = self.worked(session).await;
        self.progress.end();
        status
    }

    async fn worked(&mut self, session: &SessionId) -> Result<Status, Failure> {
        let _beat = Beat::start(self.assembled.engine.clone(), self.assembled.queue.clone());
        loop {
            if let Some(status) = self.claimed(session).await? {
                return Ok(status);
            }
            if let Some(status) = self.follow(session).await? {
                return Ok(status);
            }
        }
    }

    /// Works on the session here; nothing if another process has it.
    async fn claimed(&mut self, session: &SessionId) -> Result<Option<Status>, Failure> {
        let engine = self.assembled.engine.clone();
        let mut live = engine.watch();
        let work = engine.work_on(session);
        tokio::pin!(work);
        let mut stopping = false;
        let outcome = loop {
            tokio::select! {
                biased;
                () = self.interrupt.recv() => {
                    if stopping {
                        // Leaving drops the work, and with it every process that it started.
                        return Err(Failure::Interrupted);
                    }
                    stopping = true;
                    self.progress.say("stopping; Ctrl-C again leaves at once");
                    engine.cancel(session, &self.assembled.by).await?;
                }
                happened = live.recv() => {
                    if let Ok(happened) = happened
                        && happened.session() == session
                    {
                        self.progress.show(&happened);
                    }
                }
                outcome = &mut work => break outcome,
            }
        };
        while let Ok(happened) = live.try_recv() {
            if happened.session() == session {
                self.progress.show(&happened);
            }
        }
        match outcome {
            Ok(outcome) => Ok(Some(outcome.status)),
            Err(EngineError::Store(StoreError::WrongStatus { status, .. })) => {
                Ok(Some(status).filter(|status| is_end(*status)))
            }
            Err(EngineError::Store(StoreError::ClaimLost { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Watches another process work on the session, until it ends or pauses; nothing once it is free again, because that
    /// process is gone.
    async fn follow(&mut self, session: &SessionId) -> Result<Option<Status>, Failure> {
        let engine = &self.assembled.engine;
        let store = self.assembled.store();
        let mut after = Sequence::START;
        let mut stopping = false;
        self.progress
            .say("another process works on this session; following it");
        loop {
            let status = store.session(session).await?.status;
            loop {
                let events = store.events(session, after, PAGE).await?;
                let Some(last) = events.last() else { break };
                after = last.sequence;
                for event in &events {
                    self.progress.event(event);
                }
            }
            if status == Status::Pending {
                return Ok(None);
            }
            if is_end(status) || status == Status::Held {
                return Ok(Some(status));
            }
            tokio::select! {
                () = tokio::time::sleep(FOLLOW) => {}
                () = self.interrupt.recv() => {
                    if stopping {
                        return Err(Failure::Interrupted);
                    }
                    stopping = true;
                    self.progress.say("stopping; Ctrl-C again leaves at once");
                    engine.cancel(session, &self.assembled.by).await?;
                }
            }
        }
    }
}
