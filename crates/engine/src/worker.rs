//! Workers: they take sessions from the queue, one at a time each, keep their claims alive, and let go in order.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use interlock_gate::HoldStatus;
use interlock_protocol::{EventBody, SessionId, Status};
use interlock_store::{Claim, Concurrency, Holds, Record, Retained, Retention};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::Error;
use crate::run::{self, Outcome};
use crate::work::event;

/// How the queue is worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// How many sessions are worked on at the same time in this process.
    pub workers: u32,
    /// How many are in all processes together.
    pub max_concurrent: Option<u32>,
    /// How often a process says that it lives.
    pub heartbeat: Duration,
    /// After how much silence its sessions are taken over.
    pub orphan_after: Duration,
    /// How often to look for work that another process submitted.
    pub poll: Duration,
    /// How long what ended is kept.
    pub retention: Retention,
}

/// How often it is looked for holds whose time is up, where the heart beats more slowly.
const EXPIRY: Duration = Duration::from_secs(1);
/// How often it is looked for what need not be kept any longer.
const TIDY: Duration = Duration::from_hours(1);

impl Default for Queue {
    fn default() -> Self {
        Self {
            workers: 5,
            max_concurrent: None,
            heartbeat: Duration::from_secs(10),
            orphan_after: Duration::from_mins(1),
            poll: Duration::from_secs(1),
            retention: Retention {
                sessions_days: None,
                purge_days: None,
            },
        }
    }
}

/// Workers that run. Dropping it lets them go on until the process ends; [`Workers::drain`] ends them in order.
#[derive(Debug)]
pub struct Workers {
    draining: CancellationToken,
    tasks: JoinSet<()>,
    queue: QueueControl,
}

/// Changes how running workers work the queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct QueueControl(watch::Sender<Queue>);

impl QueueControl {
    /// From now on it is worked like this. Of fewer workers, those that are too many end when their session pauses or ends.
    pub fn set(&self, queue: Queue) {
        self.0.send_if_modified(|current| {
            let changed = *current != queue;
            *current = queue;
            changed
        });
    }
}

impl Workers {
    /// What changes how they work.
    pub fn control(&self) -> QueueControl {
        self.queue.clone()
    }

    /// Takes nothing more, lets what runs come to a point where another can go on, and waits for that.
    pub async fn drain(mut self) {
        self.draining.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Engine {
    /// Starts workers.
    pub fn start(&self, queue: &Queue) -> Workers {
        let draining = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (sender, receiver) = watch::channel(queue.clone());
        let (engine, stop, queue) = (self.clone(), draining.clone(), receiver.clone());
        tasks.spawn(async move { engine.keep_workers(queue, &stop).await });
        let (engine, stop) = (self.clone(), draining.clone());
        tasks.spawn(async move { engine.look_after(receiver, &stop).await });
        Workers {
            draining,
            tasks,
            queue: QueueControl(sender),
        }
    }

    /// As many workers as the queue is to have, until they are to stop; then waits for them.
    async fn keep_workers(&self, mut queue: watch::Receiver<Queue>, draining: &CancellationToken) {
        let mut tasks = JoinSet::new();
        let mut running = BTreeSet::new();
        loop {
            let wanted = queue.borrow_and_update().workers.max(1);
            for number in 0..wanted {
                if running.insert(number) {
                    let (engine, queue, draining) = (self.clone(), queue.clone(), draining.clone());
                    tasks.spawn(async move {
                        engine.take_sessions(number, queue, &draining).await;
                        number
                    });
                }
            }
            tokio::select! {
                () = draining.cancelled() => break,
                changed = queue.changed() => if changed.is_err() {
                    break;
                },
                Some(ended) = tasks.join_next() => {
                    if let Ok(number) = ended {
                        running.remove(&number);
                    }
                }
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn take_sessions(
        &self,
        number: u32,
        mut settings: watch::Receiver<Queue>,
        draining: &CancellationToken,
    ) {
        let store = &self.inner.store;
        let mut work = store.work();
        while !draining.is_cancelled() {
            let queue = settings.borrow_and_update().clone();
            if number >= queue.workers.max(1) {
                return;
            }
            let limit = Concurrency {
                worker: queue.workers,
                overall: queue.max_concurrent,
            };
            match store
                .claim_next(&self.inner.worker, Timestamp::now(), limit)
                .await
            {
                Ok(Some((claim, _))) => {
                    let session = claim.session.clone();
                    if let Err(error) = self.run_claimed(claim, draining.clone()).await {
                        tracing::error!(%session, %error, "work on a session stopped");
                    }
                }
                Ok(None) => {
                    tokio::select! {
                        waited = work.wait(queue.poll) => {
                            if let Err(error) = waited {
                                tracing::error!(%error, "the queue cannot be watched");
                            }
                        }
                        () = changed(&mut settings) => {}
                        () = draining.cancelled() => {}
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the queue cannot be read");
                    tokio::select! {
                        () = tokio::time::sleep(queue.poll) => {}
                        () = draining.cancelled() => {}
                    }
                }
            }
        }
    }

    /// Says that this process lives, takes over what others left, ends holds whose time is up, hears of cancellations.
    async fn look_after(&self, mut settings: watch::Receiver<Queue>, draining: &CancellationToken) {
        loop {
            let queue = settings.borrow_and_update().clone();
            tokio::select! {
                () = self.look_after_as(&queue, draining) => return,
                () = changed(&mut settings) => {}
            }
        }
    }

    async fn look_after_as(&self, queue: &Queue, draining: &CancellationToken) {
        let every = |period: Duration| {
            let mut tick = tokio::time::interval(period);
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            tick
        };
        let mut start_error = None;
        let (mut tick, mut expiry) = (every(queue.heartbeat), every(EXPIRY.min(queue.heartbeat)));
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                _ = expiry.tick() => {
                    if let Err(error) = self.expire_holds().await {
                        tracing::error!(%error, "holds whose time is up cannot be ended");
                    }
                    let error = self.start_waiting().await.err().map(|error| error.to_string());
                    // Tried every second, logged once.
                    if error != start_error && let Some(error) = &error {
                        tracing::error!(error, "sessions for incidents cannot start; retrying");
                    }
                    start_error = error;
                    continue;
                }
                () = draining.cancelled() => {
                    // Claims stay alive while what runs winds up; the tasks end by themselves.
                    let nothing_runs = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
                    if nothing_runs {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            if let Err(error) = self.beat(queue).await {
                tracing::error!(%error, "the store cannot be reached");
            }
        }
    }

    /// One round of looking after the queue.
    pub async fn beat(&self, queue: &Queue) -> Result<(), Error> {
        let inner = &self.inner;
        let now = Timestamp::now();
        inner.store.heartbeat(&inner.worker, now).await?;
        inner.refresh_kill_switch().await?;
        let running: Vec<SessionId> = inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect();
        for session in &running {
            if inner.store.cancel_requested(session).await? {
                inner.cancel_here(session);
            }
        }
        let left = inner
            .store
            .put_back_idle(&inner.worker, &running, now, queue.orphan_after)
            .await?;
        for session in &left {
            tracing::warn!(%session, "work on it had stopped; it goes back to the queue");
        }
        let taken = inner.store.take_over(now, queue.orphan_after).await?;
        for session in &taken {
            tracing::warn!(%session, "its worker is gone; the session is taken over");
        }
        self.expire_holds().await?;
        self.tidy(queue, now).await
    }

    /// Forgets what need not be kept any longer, now and then.
    async fn tidy(&self, queue: &Queue, now: Timestamp) -> Result<(), Error> {
        let due = {
            let mut last = self.inner.tidied.lock().unwrap_or_else(PoisonError::into_inner);
            let due = last.is_none_or(|last| last.elapsed() >= TIDY);
            if due {
                *last = Some(Instant::now());
            }
            due
        };
        if due {
            let retained = self.inner.store.retain(&queue.retention, now).await?;
            if retained != Retained::default() {
                tracing::info!(
                    deleted = retained.soft_deleted,
                    removed = retained.purged,
                    "sessions were old enough to go"
                );
            }
        }
        Ok(())
    }

    /// Ends holds that nobody decided in time, so that their sessions go on.
    pub async fn expire_holds(&self) -> Result<(), Error> {
        let inner = &self.inner;
        let now = Timestamp::now();
        for mut hold in inner.store.holds(Holds::Open).await? {
            if now < hold.expires_at {
                continue;
            }
            let session = hold.plan.session.clone();
            hold.status = HoldStatus::Expired { at: now };
            let body = EventBody::HoldExpired {
                hold: hold.id.clone(),
            };
            let records = vec![
                Record::Hold(hold.clone()),
                event(None, Some(&hold.plan.execution), body),
            ];
            match inner.append_unclaimed(&session, records).await {
                // Or somebody decided it in the same moment.
                Ok(()) | Err(Error::Store(interlock_store::Error::HoldDecided(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Works on one session in this task, until it ends or pauses.
    pub async fn work_on(&self, session: &SessionId) -> Result<Outcome, Error> {
        let claim = self
            .inner
            .store
            .claim(session, &self.inner.worker, Timestamp::now())
            .await?;
        // Boxed, so that the futures of callers stay small.
        Box::pin(self.run_claimed(claim, CancellationToken::new())).await
    }

    async fn run_claimed(&self, claim: Claim, draining: CancellationToken) -> Result<Outcome, Error> {
        let inner = &self.inner;
        let session = claim.session.clone();
        let cancel = CancellationToken::new();
        if inner.store.cancel_requested(&session).await? {
            cancel.cancel();
        }
        let working = inner.begin_work(&session, cancel.clone());
        let result = run::run(std::sync::Arc::clone(inner), claim.clone(), cancel, draining).await;
        drop(working);
        if let Err(error) = &result {
            self.give_up(&claim, error).await;
        }
        result
    }

    /// A session that cannot be worked on ends with the reason, if the store still takes it.
    async fn give_up(&self, claim: &Claim, error: &Error) {
        if let Error::Store(error) = error
            && (error.is_storage() || matches!(error, interlock_store::Error::ClaimLost { .. }))
        {
            // Another has it, or will have it when there is room again.
            return;
        }
        let records = vec![
            event(
                None,
                None,
                EventBody::SessionCompleted {
                    status: Status::Failed,
                },
            ),
            Record::Status {
                status: Status::Failed,
                answer: None,
                error: Some(error.to_string()),
            },
        ];
        let batch = interlock_store::Batch {
            session: claim.session.clone(),
            claim: Some(claim.clone()),
            at: Timestamp::now(),
            records,
        };
        if let Err(error) = self.inner.store.append(batch).await {
            tracing::error!(session = %claim.session, %error, "not even the reason could be kept");
        }
    }
}

/// Until the settings change. Never, if nobody can change them any more.
async fn changed(settings: &mut watch::Receiver<Queue>) {
    if settings.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
