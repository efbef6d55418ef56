//! What people look at first: a session without everything that was said in it, and the holds.

use interlock_gate::{Hold, NotRunCall};
use interlock_protocol::{Evidence, ExecutionId, ResourceId, Sequence, SessionId};
use jiff::Timestamp;

use crate::backend::on;
use crate::{Error, Execution, Run, Session, Stage, Store, Tally, TimelineEntry};

/// A session without its messages, its evidence and its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The session.
    pub session: Session,
    /// Its runs, in order.
    pub runs: Vec<Run>,
    /// Its stages, in order.
    pub stages: Vec<Stage>,
    /// Its executions, in order.
    pub executions: Vec<Execution>,
    /// The timeline's entry of its last answer.
    pub answer: Option<TimelineEntry>,
    /// The place of its last event.
    pub last_event: Sequence,
    /// What is counted of it.
    pub tally: Tally,
    /// The writes that were proposed and did not run.
    pub not_run: Vec<NotRunCall>,
}

impl Store {
    /// A session without its messages, its evidence and its steps.
    pub async fn outline(&self, session: &SessionId) -> Result<Outline, Error> {
        on!(self, outline(session))
    }

    /// The writes of a session that were proposed and did not run.
    pub async fn not_run(&self, session: &SessionId) -> Result<Vec<NotRunCall>, Error> {
        on!(self, not_run(session))
    }

    /// Holds that do not wait any more, of one session or of all, newest first. Those of deleted sessions are not among
    /// them.
    pub async fn decided_holds(&self, session: Option<&SessionId>, limit: u32) -> Result<Vec<Hold>, Error> {
        on!(self, decided_holds(session, limit))
    }

    /// Those of these sessions that people do not see: deleted, or not there at all.
    pub async fn gone(&self, sessions: Vec<SessionId>) -> Result<Vec<SessionId>, Error> {
        on!(self, gone(sessions))
    }

    /// What an execution said before a moment, newest first: its thinking and its words.
    pub async fn said_before(
        &self,
        session: &SessionId,
        execution: &ExecutionId,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<TimelineEntry>, Error> {
        on!(self, said_before(session, execution, at, limit))
    }

    /// A session's evidence about a resource, newest first.
    pub async fn evidence_about(
        &self,
        session: &SessionId,
        resource: &ResourceId,
        limit: u32,
    ) -> Result<Vec<Evidence>, Error> {
        on!(self, evidence_about(session, resource, limit))
    }

    /// When a worker was last heard of, whichever it was.
    pub async fn last_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        on!(self, last_heartbeat())
    }
}
