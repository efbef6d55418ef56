//! Every operation that only reads.

use std::sync::{Arc, PoisonError};

use interlock_gate::{Hold, NotRunCall, TokenRecord, Writer};
use interlock_protocol::{
    ContentHash, Event, Evidence, EvidenceId, ExecutionId, HoldId, PermitId, ResourceId, RunId, Sequence,
    SessionId, UserId,
};
use interlock_seal::Keyring;
use jiff::Timestamp;
use serde_json::Value;

use super::seal::{Order, Outside};
use super::{Sqlite, look};
use crate::mark::Mark;
use crate::prepare::nanoseconds;
use crate::{
    ApiToken, AuditEntry, AuditFilter, AuditVerified, Call, Checkpoint, Compared, Counts, DecisionFilter,
    DecisionRow, Error, FeedPage, Filter, FilterOptions, HeadFound, Holds, Interaction, Login, Message,
    ModelHealth, Note, Outline, RecordVerified, Run, SavedView, SchemaChange, SealState, Session,
    SessionPage, SessionQuery, SessionUse, SessionsVerified, Snapshot, Step, Switch, TimelineEntry, ToolUse,
    UsageBy, UsageRow, User,
};

impl Sqlite {
    pub(crate) async fn snapshot(&self, session: &SessionId) -> Result<Snapshot, Error> {
        let session = session.clone();
        self.read(move |conn| look::snapshot(conn, &session)).await
    }

    pub(crate) async fn session(&self, session: &SessionId) -> Result<Session, Error> {
        let session = session.clone();
        self.read(move |conn| look::session(conn, &session)).await
    }

    pub(crate) async fn find_session(&self, prefix: &str) -> Result<Session, Error> {
        let prefix = prefix.to_owned();
        self.read(move |conn| look::find_session(conn, &prefix)).await
    }

    pub(crate) async fn find_run(&self, prefix: &str) -> Result<(SessionId, Run), Error> {
        let prefix = prefix.to_owned();
        self.read(move |conn| look::find_run(conn, &prefix)).await
    }

    pub(crate) async fn find_hold(&self, prefix: &str) -> Result<Hold, Error> {
        let prefix = prefix.to_owned();
        self.read(move |conn| look::find_hold(conn, &prefix)).await
    }

    pub(crate) async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, Error> {
        let filter = filter.clone();
        self.read(move |conn| look::sessions(conn, &filter)).await
    }

    pub(crate) async fn events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let session = session.clone();
        self.read(move |conn| look::events(conn, &session, after, limit))
            .await
    }

    pub(crate) async fn last_sequence(&self, session: &SessionId) -> Result<Sequence, Error> {
        let session = session.clone();
        self.read(move |conn| look::last_sequence(conn, &session)).await
    }

    pub(crate) async fn timeline(&self, session: &SessionId) -> Result<Vec<TimelineEntry>, Error> {
        let session = session.clone();
        self.read(move |conn| look::timeline(conn, &session)).await
    }

    pub(crate) async fn entry_of_permit(
        &self,
        session: &SessionId,
        permit: &PermitId,
    ) -> Result<Option<TimelineEntry>, Error> {
        let (session, permit) = (session.clone(), permit.clone());
        self.read(move |conn| look::entry_of_permit(conn, &session, &permit))
            .await
    }

    pub(crate) async fn entry_of_hold(
        &self,
        session: &SessionId,
        hold: &HoldId,
    ) -> Result<Option<TimelineEntry>, Error> {
        let (session, hold) = (session.clone(), hold.clone());
        self.read(move |conn| look::entry_of_hold(conn, &session, &hold))
            .await
    }

    pub(crate) async fn call(&self, session: &SessionId, permit: &PermitId) -> Result<Option<Call>, Error> {
        let (session, permit) = (session.clone(), permit.clone());
        self.read(move |conn| look::call(conn, &session, &permit)).await
    }

    pub(crate) async fn messages(&self, execution: &ExecutionId) -> Result<Vec<Message>, Error> {
        let execution = execution.clone();
        self.read(move |conn| look::messages(conn, &execution)).await
    }

    pub(crate) async fn interactions(&self, run: &RunId) -> Result<Vec<Interaction>, Error> {
        let run = run.clone();
        self.read(move |conn| look::interactions(conn, &run)).await
    }

    pub(crate) async fn interaction_facts(&self, session: &SessionId) -> Result<Vec<Value>, Error> {
        let session = session.clone();
        self.read(move |conn| look::facts(conn, &session)).await
    }

    pub(crate) async fn calls(&self, session: &SessionId) -> Result<Vec<Call>, Error> {
        let session = session.clone();
        self.read(move |conn| look::calls(conn, &session)).await
    }

    pub(crate) async fn call_of(&self, hold: &HoldId) -> Result<Option<Call>, Error> {
        let hold = hold.clone();
        self.read(move |conn| look::call_of(conn, &hold)).await
    }

    pub(crate) async fn calls_of_run(&self, run: &RunId) -> Result<Vec<Call>, Error> {
        let run = run.clone();
        self.read(move |conn| look::calls_of_run(conn, &run)).await
    }

    pub(crate) async fn steps(&self, session: &SessionId, up_to: Option<&RunId>) -> Result<Vec<Step>, Error> {
        let (session, up_to) = (session.clone(), up_to.cloned());
        self.read(move |conn| look::steps(conn, &session, up_to.as_ref()))
            .await
    }

    pub(crate) async fn holds(&self, which: Holds) -> Result<Vec<Hold>, Error> {
        self.read(move |conn| look::holds(conn, &which)).await
    }

    pub(crate) async fn hold(&self, hold: &HoldId) -> Result<Hold, Error> {
        let hold = hold.clone();
        self.read(move |conn| look::hold(conn, &hold)).await
    }

    pub(crate) async fn tokens(&self, hold: &HoldId) -> Result<Vec<TokenRecord>, Error> {
        let hold = hold.clone();
        self.read(move |conn| look::tokens(conn, &hold)).await
    }

    pub(crate) async fn readings(&self, session: &SessionId) -> Result<Vec<Timestamp>, Error> {
        let session = session.clone();
        self.read(move |conn| look::readings(conn, &session)).await
    }

    pub(crate) async fn evidence(&self, session: &SessionId) -> Result<Vec<Evidence>, Error> {
        let session = session.clone();
        self.read(move |conn| look::evidence(conn, &session)).await
    }

    pub(crate) async fn evidence_of(
        &self,
        session: &SessionId,
        ids: &[EvidenceId],
    ) -> Result<Vec<Evidence>, Error> {
        let (session, ids) = (session.clone(), ids.to_vec());
        self.read(move |conn| look::evidence_of(conn, &session, &ids))
            .await
    }

    pub(crate) async fn runs(&self, session: &SessionId) -> Result<Vec<Run>, Error> {
        let session = session.clone();
        self.read(move |conn| look::runs(conn, &session)).await
    }

    pub(crate) async fn writers(&self) -> Result<Vec<(ResourceId, Writer)>, Error> {
        self.read(look::writers).await
    }

    pub(crate) async fn setting(&self, name: &str) -> Result<Option<String>, Error> {
        let name = name.to_owned();
        self.read(move |conn| look::setting(conn, &name)).await
    }

    pub(crate) async fn outline(&self, session: &SessionId) -> Result<Outline, Error> {
        let session = session.clone();
        self.read(move |conn| look::outline(conn, &session)).await
    }

    pub(crate) async fn schema_changes(&self) -> Result<Vec<SchemaChange>, Error> {
        self.read(look::schema_changes).await
    }

    pub(crate) async fn not_run(&self, session: &SessionId) -> Result<Vec<NotRunCall>, Error> {
        let session = session.clone();
        self.read(move |conn| look::not_run(conn, &session)).await
    }

    pub(crate) async fn decided_holds(
        &self,
        session: Option<&SessionId>,
        limit: u32,
    ) -> Result<Vec<Hold>, Error> {
        let session = session.cloned();
        self.read(move |conn| look::decided_holds(conn, session.as_ref(), limit))
            .await
    }

    pub(crate) async fn gone(&self, sessions: Vec<SessionId>) -> Result<Vec<SessionId>, Error> {
        self.read(move |conn| look::gone(conn, &sessions)).await
    }

    pub(crate) async fn said_before(
        &self,
        session: &SessionId,
        execution: &ExecutionId,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<TimelineEntry>, Error> {
        let (session, execution, at) = (session.clone(), execution.clone(), nanoseconds(at)?);
        self.read(move |conn| look::said_before(conn, &session, &execution, at, limit))
            .await
    }

    pub(crate) async fn evidence_about(
        &self,
        session: &SessionId,
        resource: &ResourceId,
        limit: u32,
    ) -> Result<Vec<Evidence>, Error> {
        let (session, resource) = (session.clone(), resource.to_string());
        self.read(move |conn| look::evidence_about(conn, &session, &resource, limit))
            .await
    }

    pub(crate) async fn last_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        self.read(look::last_heartbeat).await
    }

    pub(crate) async fn usage_of(&self, sessions: Vec<SessionId>) -> Result<Vec<SessionUse>, Error> {
        self.read(move |conn| look::usage_of(conn, &sessions)).await
    }

    pub(crate) async fn model_health(
        &self,
        names: Vec<String>,
        since: Timestamp,
    ) -> Result<Vec<ModelHealth>, Error> {
        let since = nanoseconds(since)?;
        self.read(move |conn| look::model_health(conn, &names, since))
            .await
    }

    pub(crate) async fn session_page(&self, query: &SessionQuery) -> Result<SessionPage, Error> {
        let query = query.clone();
        self.read(move |conn| look::session_page(conn, &query)).await
    }

    pub(crate) async fn counts(&self) -> Result<Counts, Error> {
        self.read(look::counts).await
    }

    pub(crate) async fn filter_options(&self) -> Result<FilterOptions, Error> {
        self.read(look::filter_options).await
    }

    pub(crate) async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<DecisionRow>, Error> {
        let filter = filter.clone();
        self.read(move |conn| look::decisions(conn, &filter)).await
    }

    pub(crate) async fn calls_on(
        &self,
        resource: &ResourceId,
        limit: u32,
    ) -> Result<Vec<(SessionId, Call)>, Error> {
        let resource = resource.clone();
        self.read(move |conn| look::calls_on(conn, &resource, limit))
            .await
    }

    pub(crate) async fn usage(
        &self,
        from: Timestamp,
        to: Timestamp,
        by: UsageBy,
    ) -> Result<Vec<UsageRow>, Error> {
        let (from, to) = (nanoseconds(from)?, nanoseconds(to)?);
        self.read(move |conn| look::usage(conn, from, to, by)).await
    }

    pub(crate) async fn tool_use(&self, since: Timestamp) -> Result<Vec<ToolUse>, Error> {
        let since = nanoseconds(since)?;
        self.read(move |conn| look::tool_use(conn, since)).await
    }

    pub(crate) async fn open_with_fingerprint(&self, fingerprint: &str) -> Result<Option<SessionId>, Error> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |conn| look::open_with_fingerprint(conn, &fingerprint))
            .await
    }

    pub(crate) async fn user(&self, id: &UserId) -> Result<Option<User>, Error> {
        let id = id.clone();
        self.read(move |conn| look::user(conn, &id)).await
    }

    pub(crate) async fn user_of(&self, issuer: &str, subject: &str) -> Result<Option<User>, Error> {
        let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
        self.read(move |conn| look::user_of(conn, &issuer, &subject))
            .await
    }

    pub(crate) async fn users(&self) -> Result<Vec<User>, Error> {
        self.read(look::users).await
    }

    pub(crate) async fn logins(&self, user: &UserId, now: Timestamp) -> Result<Vec<Login>, Error> {
        let (user, now) = (user.clone(), nanoseconds(now)?);
        self.read(move |conn| look::logins(conn, &user, now)).await
    }

    pub(crate) async fn api_tokens(&self, user: Option<&UserId>) -> Result<Vec<ApiToken>, Error> {
        let user = user.cloned();
        self.read(move |conn| look::api_tokens(conn, user.as_ref())).await
    }

    pub(crate) async fn views(&self, user: &UserId) -> Result<Vec<SavedView>, Error> {
        let user = user.clone();
        self.read(move |conn| look::views(conn, &user)).await
    }

    pub(crate) async fn recall(
        &self,
        query: &str,
        about: Option<&str>,
        most: u32,
    ) -> Result<Vec<Note>, Error> {
        let (query, about) = (query.to_owned(), about.map(str::to_owned));
        self.read(move |conn| look::recall(conn, &query, about.as_deref(), most))
            .await
    }

    pub(crate) async fn audit_entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Error> {
        let filter = filter.clone();
        self.read(move |conn| look::audit_entries(conn, &filter)).await
    }

    pub(crate) async fn verify_audit(&self) -> Result<AuditVerified, Error> {
        self.read(look::verify_audit).await
    }

    pub(crate) async fn catalogue(&self, hash: ContentHash) -> Result<Option<String>, Error> {
        self.read(move |conn| look::catalogue(conn, &hash)).await
    }

    pub(crate) async fn seal_of(&self, session: &SessionId) -> Result<SealState, Error> {
        let Some(keyring) = self.keyring().cloned() else {
            return Ok(SealState::Unsigned);
        };
        let session = session.clone();
        // A process that writes has signed with the newest key; one that reads asks the mark whether that key has signed.
        let (path, signs) = (self.path.clone(), self.jobs.is_some());
        let known = Arc::clone(&self.newest_seals);
        self.read(move |conn| {
            let mark = path.as_deref().and_then(|path| Mark::of(Some(&keyring), path));
            let outside = if signs {
                Outside::SignsHere
            } else {
                Outside::Mark(mark.as_ref())
            };
            let newest = known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .of(conn, session.as_str())?;
            look::seal_state(conn, Some(&keyring), outside, session.as_str(), newest)
        })
        .await
    }

    pub(crate) async fn verify_sessions(
        &self,
        keyring: &Keyring,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionsVerified, Error> {
        let _one = self.verifying.lock().await;
        let (keyring, after) = (keyring.clone(), after.map(str::to_owned));
        let path = self.path.clone();
        self.read(move |conn| {
            let mark = path.as_deref().and_then(|path| Mark::of(Some(&keyring), path));
            let outside = Outside::Mark(mark.as_ref());
            look::verify_sessions(conn, &keyring, outside, (after.as_deref(), limit))
        })
        .await
    }

    pub(crate) async fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        self.read(look::last_checkpoint).await
    }

    pub(crate) async fn find_head(&self, hash: &ContentHash) -> Result<Option<HeadFound>, Error> {
        let hash = *hash;
        self.read(move |conn| look::find_head(conn, &hash)).await
    }

    pub(crate) async fn switch(&self) -> Result<Switch, Error> {
        self.read(look::switch).await
    }

    pub(crate) async fn cancel_requested(&self, session: &SessionId) -> Result<bool, Error> {
        let session = session.clone();
        self.read(move |conn| look::cancel_requested(conn, &session))
            .await
    }

    pub(crate) async fn login(
        &self,
        hash: &ContentHash,
        now: Timestamp,
    ) -> Result<Option<(Login, User)>, Error> {
        let (hash, now) = (*hash, nanoseconds(now)?);
        self.read(move |conn| look::login(conn, &hash, now)).await
    }

    pub(crate) async fn api_token(
        &self,
        hash: &ContentHash,
        now: Timestamp,
    ) -> Result<Option<(ApiToken, User)>, Error> {
        let (hash, now) = (*hash, nanoseconds(now)?);
        self.read(move |conn| look::api_token(conn, &hash, now)).await
    }

    pub(crate) async fn safe_position(&self) -> Result<u64, Error> {
        self.read(look::last_position).await
    }

    pub(crate) async fn feed_page(&self, after: u64, kinds: &[&str], limit: u32) -> Result<FeedPage, Error> {
        let kinds: Vec<String> = kinds.iter().map(|&kind| kind.to_owned()).collect();
        self.read(move |conn| look::feed_page(conn, after, &kinds, limit))
            .await
    }

    pub(crate) async fn session_events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<crate::Placed>, Error> {
        let session = session.clone();
        self.read(move |conn| look::session_events(conn, &session, after, limit))
            .await
    }

    pub(crate) async fn integrity(&self) -> Result<(), Error> {
        self.read(|conn| {
            look::integrity(conn, "PRAGMA integrity_check(10)")?;
            look::no_orphans(conn)
        })
        .await
    }

    pub(crate) async fn compare(
        &self,
        keyring: &Keyring,
        checkpoints: Vec<Checkpoint>,
    ) -> Result<Vec<Compared>, Error> {
        let keyring = keyring.clone();
        self.read(move |conn| {
            let order = Order::of(conn, &keyring)?;
            let compared = checkpoints.iter().map(|checkpoint| {
                let fault = if !keyring.trusts(&checkpoint.public_key) {
                    Some(format!(
                        "it is signed by the key {}, which is not trusted",
                        checkpoint.public_key
                    ))
                } else if !checkpoint.verifies(&keyring) {
                    Some("its signature does not fit".to_owned())
                } else {
                    look::misfit(conn, checkpoint)?.or_else(|| order.clash(checkpoint))
                };
                Ok(Compared {
                    checkpoint: checkpoint.clone(),
                    fault,
                })
            });
            compared.collect()
        })
        .await
    }

    pub(crate) async fn verify_record(
        &self,
        keyring: &Keyring,
        sessions: bool,
    ) -> Result<RecordVerified, Error> {
        let _one = self.verifying.lock().await;
        let (keyring, path) = (keyring.clone(), self.path.clone());
        self.read(move |conn| {
            let mark = path.as_deref().and_then(|path| Mark::of(Some(&keyring), path));
            look::verify_record(conn, &keyring, mark.as_ref(), sessions)
        })
        .await
    }
}
