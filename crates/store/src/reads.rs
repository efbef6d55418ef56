//! Everything that can be looked at.

use interlock_gate::{Hold, TokenRecord, Writer};
use interlock_protocol::{
    Event, Evidence, EvidenceId, ExecutionId, HoldId, ResourceId, RunId, Sequence, SessionId,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::sqlite::look;
use crate::{
    Call, Error, Filter, Holds, Interaction, Message, Run, Session, Snapshot, Step, Store, TimelineEntry,
};

impl Store {
    /// Everything that is needed to go on with a session.
    pub async fn snapshot(&self, session: &SessionId) -> Result<Snapshot, Error> {
        let session = session.clone();
        self.look(move |conn| look::snapshot(conn, &session)).await
    }

    /// A session.
    pub async fn session(&self, session: &SessionId) -> Result<Session, Error> {
        let session = session.clone();
        self.look(move |conn| look::session(conn, &session)).await
    }

    /// The one session whose id begins like this, with or without `ses_`.
    pub async fn find_session(&self, prefix: &str) -> Result<Session, Error> {
        let prefix = prefix.to_owned();
        self.look(move |conn| look::find_session(conn, &prefix)).await
    }

    /// The one run whose id begins like this, with its session.
    pub async fn find_run(&self, prefix: &str) -> Result<(SessionId, Run), Error> {
        let prefix = prefix.to_owned();
        self.look(move |conn| look::find_run(conn, &prefix)).await
    }

    /// The one hold whose id begins like this.
    pub async fn find_hold(&self, prefix: &str) -> Result<Hold, Error> {
        let prefix = prefix.to_owned();
        self.look(move |conn| look::find_hold(conn, &prefix)).await
    }

    /// Sessions that are not deleted, newest first.
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, Error> {
        let filter = filter.clone();
        self.look(move |conn| look::sessions(conn, &filter)).await
    }

    /// A session's events after a place, in order.
    pub async fn events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let session = session.clone();
        self.look(move |conn| look::events(conn, &session, after, limit))
            .await
    }

    /// The place of a session's last event; the start where nothing happened yet.
    pub async fn last_sequence(&self, session: &SessionId) -> Result<Sequence, Error> {
        let session = session.clone();
        self.look(move |conn| look::last_sequence(conn, &session)).await
    }

    /// A session's timeline, in the order in which its entries began.
    pub async fn timeline(&self, session: &SessionId) -> Result<Vec<TimelineEntry>, Error> {
        let session = session.clone();
        self.look(move |conn| look::timeline(conn, &session)).await
    }

    /// An execution's messages, in order.
    pub async fn messages(&self, execution: &ExecutionId) -> Result<Vec<Message>, Error> {
        let execution = execution.clone();
        self.look(move |conn| look::messages(conn, &execution)).await
    }

    /// A run's calls to models, in order, each with its whole body and nothing shared. A body that is not the one
    /// that was sent is [`Error::Corrupt`].
    pub async fn interactions(&self, run: &RunId) -> Result<Vec<Interaction>, Error> {
        let run = run.clone();
        self.look(move |conn| look::interactions(conn, &run)).await
    }

    /// The facts of every call to a model of a session, in order: usage, cost, timings.
    pub async fn interaction_facts(&self, session: &SessionId) -> Result<Vec<Value>, Error> {
        let session = session.clone();
        self.look(move |conn| look::facts(conn, &session)).await
    }

    /// A session's calls, in the order in which they began.
    pub async fn calls(&self, session: &SessionId) -> Result<Vec<Call>, Error> {
        let session = session.clone();
        self.look(move |conn| look::calls(conn, &session)).await
    }

    /// The call that a hold started, if it did.
    pub async fn call_of(&self, hold: &HoldId) -> Result<Option<Call>, Error> {
        let hold = hold.clone();
        self.look(move |conn| look::call_of(conn, &hold)).await
    }

    /// A run's calls, in the order in which they began.
    pub async fn calls_of_run(&self, run: &RunId) -> Result<Vec<Call>, Error> {
        let run = run.clone();
        self.look(move |conn| look::calls_of_run(conn, &run)).await
    }

    /// What the gate was asked in a session, in order: up to the end of a run, or all of it.
    pub async fn steps(&self, session: &SessionId, up_to: Option<&RunId>) -> Result<Vec<Step>, Error> {
        let (session, up_to) = (session.clone(), up_to.cloned());
        self.look(move |conn| look::steps(conn, &session, up_to.as_ref()))
            .await
    }

    /// Holds, in the order in which they opened.
    pub async fn holds(&self, which: Holds) -> Result<Vec<Hold>, Error> {
        self.look(move |conn| look::holds(conn, &which)).await
    }

    /// A hold.
    pub async fn hold(&self, hold: &HoldId) -> Result<Hold, Error> {
        let hold = hold.clone();
        self.look(move |conn| look::hold(conn, &hold)).await
    }

    /// What is kept of a hold's tokens.
    pub async fn tokens(&self, hold: &HoldId) -> Result<Vec<TokenRecord>, Error> {
        let hold = hold.clone();
        self.look(move |conn| look::tokens(conn, &hold)).await
    }

    /// When each of a session's readings was taken, in order.
    pub async fn readings(&self, session: &SessionId) -> Result<Vec<Timestamp>, Error> {
        let session = session.clone();
        self.look(move |conn| look::readings(conn, &session)).await
    }

    /// A session's evidence, in order.
    pub async fn evidence(&self, session: &SessionId) -> Result<Vec<Evidence>, Error> {
        let session = session.clone();
        self.look(move |conn| look::evidence(conn, &session)).await
    }

    /// These pieces of a session's evidence, in this order.
    pub async fn evidence_of(&self, session: &SessionId, ids: &[EvidenceId]) -> Result<Vec<Evidence>, Error> {
        let (session, ids) = (session.clone(), ids.to_vec());
        self.look(move |conn| look::evidence_of(conn, &session, &ids))
            .await
    }

    /// A session's runs, in order.
    pub async fn runs(&self, session: &SessionId) -> Result<Vec<Run>, Error> {
        let session = session.clone();
        self.look(move |conn| look::runs(conn, &session)).await
    }

    /// Who is writing to what, in all sessions.
    pub async fn writers(&self) -> Result<Vec<(ResourceId, Writer)>, Error> {
        self.look(look::writers).await
    }

    /// A setting.
    pub async fn setting(&self, name: &str) -> Result<Option<String>, Error> {
        let name = name.to_owned();
        self.look(move |conn| look::setting(conn, &name)).await
    }
}
