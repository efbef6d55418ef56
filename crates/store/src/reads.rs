//! Everything that can be looked at.

use interlock_gate::{Hold, TokenRecord, Writer};
use interlock_protocol::{
    Event, Evidence, EvidenceId, ExecutionId, HoldId, PermitId, ResourceId, RunId, Sequence, SessionId,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::backend::on;
use crate::{
    Call, Error, Filter, Holds, Interaction, Message, Run, Session, Snapshot, Step, Store, TimelineEntry,
};

impl Store {
    /// Everything that is needed to go on with a session.
    pub async fn snapshot(&self, session: &SessionId) -> Result<Snapshot, Error> {
        on!(self, snapshot(session))
    }

    /// A session.
    pub async fn session(&self, session: &SessionId) -> Result<Session, Error> {
        on!(self, session(session))
    }

    /// The one session whose id begins like this, with or without `ses_`.
    pub async fn find_session(&self, prefix: &str) -> Result<Session, Error> {
        on!(self, find_session(prefix))
    }

    /// The one run whose id begins like this, with its session.
    pub async fn find_run(&self, prefix: &str) -> Result<(SessionId, Run), Error> {
        on!(self, find_run(prefix))
    }

    /// The one hold whose id begins like this.
    pub async fn find_hold(&self, prefix: &str) -> Result<Hold, Error> {
        on!(self, find_hold(prefix))
    }

    /// Sessions that are not deleted, newest first.
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, Error> {
        on!(self, sessions(filter))
    }

    /// A session's events after a place, in order.
    pub async fn events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        on!(self, events(session, after, limit))
    }

    /// The place of a session's last event; the start where nothing happened yet.
    pub async fn last_sequence(&self, session: &SessionId) -> Result<Sequence, Error> {
        on!(self, last_sequence(session))
    }

    /// A session's timeline, in the order in which its entries began.
    pub async fn timeline(&self, session: &SessionId) -> Result<Vec<TimelineEntry>, Error> {
        on!(self, timeline(session))
    }

    /// The timeline's entry of the call that a permit started.
    pub async fn entry_of_permit(
        &self,
        session: &SessionId,
        permit: &PermitId,
    ) -> Result<Option<TimelineEntry>, Error> {
        on!(self, entry_of_permit(session, permit))
    }

    /// The timeline's entry of the call that waits, or waited, in a hold.
    pub async fn entry_of_hold(
        &self,
        session: &SessionId,
        hold: &HoldId,
    ) -> Result<Option<TimelineEntry>, Error> {
        on!(self, entry_of_hold(session, hold))
    }

    /// The call that a permit started. Unlike in [`Store::calls`], also one that was abandoned before anything ran.
    pub async fn call(&self, session: &SessionId, permit: &PermitId) -> Result<Option<Call>, Error> {
        on!(self, call(session, permit))
    }

    /// An execution's messages, in order.
    pub async fn messages(&self, execution: &ExecutionId) -> Result<Vec<Message>, Error> {
        on!(self, messages(execution))
    }

    /// A run's calls to models, in order, each with its whole body and nothing shared. A body that is not the one
    /// that was sent is [`Error::Corrupt`].
    pub async fn interactions(&self, run: &RunId) -> Result<Vec<Interaction>, Error> {
        on!(self, interactions(run))
    }

    /// The facts of every call to a model of a session, in order: usage, cost, timings.
    pub async fn interaction_facts(&self, session: &SessionId) -> Result<Vec<Value>, Error> {
        on!(self, interaction_facts(session))
    }

    /// A session's calls, in the order in which they began.
    pub async fn calls(&self, session: &SessionId) -> Result<Vec<Call>, Error> {
        on!(self, calls(session))
    }

    /// The call that a hold started, if it did.
    pub async fn call_of(&self, hold: &HoldId) -> Result<Option<Call>, Error> {
        on!(self, call_of(hold))
    }

    /// A run's calls, in the order in which they began.
    pub async fn calls_of_run(&self, run: &RunId) -> Result<Vec<Call>, Error> {
        on!(self, calls_of_run(run))
    }

    /// What the gate was asked in a session, in order: up to the end of a run, or all of it.
    pub async fn steps(&self, session: &SessionId, up_to: Option<&RunId>) -> Result<Vec<Step>, Error> {
        on!(self, steps(session, up_to))
    }

    /// Holds, in the order in which they opened.
    pub async fn holds(&self, which: Holds) -> Result<Vec<Hold>, Error> {
        on!(self, holds(which))
    }

    /// A hold.
    pub async fn hold(&self, hold: &HoldId) -> Result<Hold, Error> {
        on!(self, hold(hold))
    }

    /// What is kept of a hold's tokens.
    pub async fn tokens(&self, hold: &HoldId) -> Result<Vec<TokenRecord>, Error> {
        on!(self, tokens(hold))
    }

    /// When each of a session's readings was taken, in order.
    pub async fn readings(&self, session: &SessionId) -> Result<Vec<Timestamp>, Error> {
        on!(self, readings(session))
    }

    /// A session's evidence, in order.
    pub async fn evidence(&self, session: &SessionId) -> Result<Vec<Evidence>, Error> {
        on!(self, evidence(session))
    }

    /// These pieces of a session's evidence, in this order.
    pub async fn evidence_of(&self, session: &SessionId, ids: &[EvidenceId]) -> Result<Vec<Evidence>, Error> {
        on!(self, evidence_of(session, ids))
    }

    /// A session's runs, in order.
    pub async fn runs(&self, session: &SessionId) -> Result<Vec<Run>, Error> {
        on!(self, runs(session))
    }

    /// Who is writing to what, in all sessions.
    pub async fn writers(&self) -> Result<Vec<(ResourceId, Writer)>, Error> {
        on!(self, writers())
    }

    /// A setting.
    pub async fn setting(&self, name: &str) -> Result<Option<String>, Error> {
        on!(self, setting(name))
    }
}
