//! Workers: they take sessions from the queue, one at a time each, keep their claims alive, and let go in order.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use interlock_gate::HoldStatus;
use interlock_protocol::{EventBody, SessionId, Status};
use interlock_store::{Claim, Concurrency, Holds, Record, Retained, Retention};
use jiff::Timestamp;
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
}

impl Workers {
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
        for _ in 0..queue.workers.max(1) {
            let engine = self.clone();
            let queue = queue.clone();
            let draining = draining.clone();
            tasks.spawn(async move { engine.take_sessions(&queue, &draining).await });
        }
        let engine = self.clone();
        let queue = queue.clone();
        let stop = draining.clone();
        tasks.spawn(async move { engine.look_after(&queue, &stop).await });
        Workers { draining, tasks }
    }

    async fn take_sessions(&self, queue: &Queue, draining: &CancellationToken) {
        let store = &self.inner.setup.store;
        let limit = Concurrency {
            worker: queue.workers,
            overall: queue.max_concurrent,
        };
        let mut work = store.work();
        while !draining.is_cancelled() {
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
    async fn look_after(&self, queue: &Queue, draining: &CancellationToken) {
        let every = |period: Duration| {
            let mut tick = tokio::time::interval(period);
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            tick
        };
        let (mut tick, mut expiry) = (every(queue.heartbeat), every(EXPIRY.min(queue.heartbeat)));
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                _ = expiry.tick() => {
                    if let Err(error) = self.expire_holds().await {
                        tracing::error!(%error, "holds whose time is up cannot be ended");
                    }
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
        inner.setup.store.heartbeat(&inner.worker, now).await?;
        inner.refresh_kill_switch().await?;
        let running: Vec<SessionId> = inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect();
        for session in &running {
            if inner.setup.store.cancel_requested(session).await? {
                inner.cancel_here(session);
            }
        }
        let left = inner
            .setup
            .store
            .put_back_idle(&inner.worker, &running, now, queue.orphan_after)
            .await?;
        for session in &left {
            tracing::warn!(%session, "work on it had stopped; it goes back to the queue");
        }
        let taken = inner.setup.store.take_over(now, queue.orphan_after).await?;
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
            let retained = self.inner.setup.store.retain(&queue.retention, now).await?;
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
        for mut hold in inner.setup.store.holds(Holds::Open).await? {
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
            .setup
            .store
            .claim(session, &self.inner.worker, Timestamp::now())
            .await?;
        self.run_claimed(claim, CancellationToken::new()).await
    }

    async fn run_claimed(&self, claim: Claim, draining: CancellationToken) -> Result<Outcome, Error> {
        let inner = &self.inner;
        let session = claim.session.clone();
        let cancel = CancellationToken::new();
        if inner.setup.store.cancel_requested(&session).await? {
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
        if let Err(error) = self.inner.setup.store.append(batch).await {
            tracing::error!(session = %claim.session, %error, "not even the reason could be kept");
        }
    }
}
