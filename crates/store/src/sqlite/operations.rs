//! Every operation that writes.

use interlock_protocol::{ContentHash, SessionId, Status, UserId, WorkerId};
use jiff::Timestamp;
use rusqlite::Connection;

use super::{Need, Sqlite, Unsigned, look, write};
use crate::prepare::{Prepared, json, nanoseconds};
use crate::store::Applied;
use crate::{
    ApiToken, AuditEntry, Cancelled, Claim, Concurrency, Deed, Error, Link, Login, NewSession, Note,
    QueueLimits, SavedView, Session, Submitted, Switch, SwitchMove, User, UserChange,
};

/// The setting that a check of the store writes.
const WRITE_CHECK: &str = "write_check";
/// How much it writes: more than a page, so that it needs room of its own.
const WRITE_CHECK_BYTES: usize = 16 * 1024;

impl Sqlite {
    pub(crate) async fn check_write(&self) -> Result<(), Error> {
        self.set_setting(WRITE_CHECK.to_owned(), "x".repeat(WRITE_CHECK_BYTES))
            .await
    }

    pub(crate) fn append(&self, batch: Prepared) -> impl Future<Output = Result<Applied, Error>> + Send {
        let durable = batch.durable;
        // What a person does to a session is about what they were shown: its rows must be what was signed.
        let check = batch.claim.is_none().then(|| self.keyring().cloned()).flatten();
        self.write(durable, move |conn| {
            if check.is_some() {
                write::check(conn, check.as_ref(), &batch.session)?;
            }
            write::apply(conn, &batch)
        })
    }

    pub(crate) async fn submit(&self, session: NewSession, limits: QueueLimits) -> Result<Submitted, Error> {
        let keyring = self.keyring().cloned();
        self.write(true, move |conn| {
            write::submit(conn, keyring.as_ref(), &session, limits)
        })
        .await
    }

    pub(crate) async fn submit_input(
        &self,
        session: &SessionId,
        (input, options): (String, Option<String>),
        limits: QueueLimits,
        now: Timestamp,
        deed: Option<Deed>,
    ) -> Result<(), Error> {
        let (session, now) = (session.clone(), nanoseconds(now)?);
        let keyring = self.keyring().cloned();
        let deed = match deed {
            Some(deed) => {
                let (done, details) = (nanoseconds(deed.at)?, json("the facts of a deed", &deed.details)?);
                Some((deed, done, details))
            }
            None => None,
        };
        self.write(true, move |conn| {
            write::check(conn, keyring.as_ref(), &session)?;
            write::submit_input(conn, &session, (&input, options.as_deref()), limits, now)?;
            if let Some((deed, done, details)) = &deed {
                write::audit(conn, deed, *done, details)?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn resubmit(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        let (session, now) = (session.clone(), nanoseconds(now)?);
        self.write(true, move |conn| write::resubmit(conn, &session, now))
            .await
    }

    pub(crate) async fn claim_next(
        &self,
        worker: &WorkerId,
        now: Timestamp,
        limits: Concurrency,
    ) -> Result<Option<(Claim, Session)>, Error> {
        let (worker, now) = (worker.clone(), nanoseconds(now)?);
        let keyring = self.keyring().cloned();
        self.write(false, move |conn| {
            write::claim_next(conn, &worker, now, limits, keyring.as_ref())
        })
        .await
    }

    pub(crate) async fn claim(
        &self,
        session: &SessionId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<Claim, Error> {
        let (session, worker, now) = (session.clone(), worker.clone(), nanoseconds(now)?);
        let keyring = self.keyring().cloned();
        self.write(false, move |conn| {
            write::check(conn, keyring.as_ref(), &session)?;
            write::claim(conn, &session, &worker, now)
        })
        .await
    }

    pub(crate) async fn reopen(
        &self,
        session: &SessionId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<(Claim, Status), Error> {
        let (session, worker, now) = (session.clone(), worker.clone(), nanoseconds(now)?);
        let keyring = self.keyring().cloned();
        self.write(false, move |conn| {
            write::check(conn, keyring.as_ref(), &session)?;
            write::reopen(conn, &session, &worker, now)
        })
        .await
    }

    pub(crate) async fn note_altered(
        &self,
        session: &SessionId,
        what: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (session, what, now) = (session.clone(), what.to_owned(), nanoseconds(now)?);
        self.write(true, move |conn| {
            write::note_altered(conn, session.as_str(), &what, now)
        })
        .await
    }

    pub(crate) async fn heartbeat(&self, worker: &WorkerId, now: Timestamp) -> Result<(), Error> {
        let (worker, now) = (worker.clone(), nanoseconds(now)?);
        self.write(false, move |conn| write::heartbeat(conn, &worker, now))
            .await
    }

    pub(crate) async fn release(&self, claim: &Claim, status: Status, now: Timestamp) -> Result<(), Error> {
        let (claim, now) = (claim.clone(), nanoseconds(now)?);
        self.write(true, move |conn| write::release(conn, &claim, status, now))
            .await
    }

    pub(crate) async fn take_over(&self, now: Timestamp, stale: Timestamp) -> Result<Vec<SessionId>, Error> {
        let (now, stale) = (nanoseconds(now)?, nanoseconds(stale)?);
        self.write(true, move |conn| write::take_over(conn, now, stale))
            .await
    }

    pub(crate) async fn put_back_idle(
        &self,
        worker: &WorkerId,
        running: &[SessionId],
        now: Timestamp,
        since: Timestamp,
    ) -> Result<Vec<SessionId>, Error> {
        let (worker, running) = (worker.clone(), running.to_vec());
        let (now, since) = (nanoseconds(now)?, nanoseconds(since)?);
        self.write(true, move |conn| {
            write::put_back_idle(conn, &worker, &running, now, since)
        })
        .await
    }

    pub(crate) async fn request_cancel(
        &self,
        session: &SessionId,
        by: Option<&UserId>,
        now: Timestamp,
    ) -> Result<Cancelled, Error> {
        let (session, by, now) = (session.clone(), by.cloned(), nanoseconds(now)?);
        self.write(true, move |conn| {
            write::request_cancel(conn, &session, by.as_ref(), now)
        })
        .await
    }

    pub(crate) async fn soft_delete(&self, session: &SessionId, now: Timestamp) -> Result<(), Error> {
        let (session, now) = (session.clone(), nanoseconds(now)?);
        self.write(false, move |conn| write::soft_delete(conn, &session, now))
            .await
    }

    pub(crate) async fn restore(&self, session: &SessionId) -> Result<(), Error> {
        let session = session.clone();
        self.write(false, move |conn| write::restore(conn, &session))
            .await
    }

    /// Deletes for people some of what ended before then. Says how many sessions; none, when all are.
    pub(crate) async fn soft_delete_some(&self, before: Timestamp, now: Timestamp) -> Result<u64, Error> {
        let (before, now) = (nanoseconds(before)?, nanoseconds(now)?);
        self.write(false, move |conn| write::soft_delete_some(conn, before, now))
            .await
    }

    /// Removes one session for good that was deleted before then, in small steps. Says whether there was one.
    pub(crate) async fn purge_one(&self, before: Timestamp) -> Result<bool, Error> {
        let before = nanoseconds(before)?;
        let Some(key) = self.read(move |conn| look::purgeable(conn, before)).await? else {
            return Ok(false);
        };
        while !self
            .write(false, move |conn| write::purge_some(conn, key, before))
            .await?
        {}
        Ok(true)
    }

    pub(crate) async fn set_setting(&self, name: String, value: String) -> Result<(), Error> {
        self.write(true, move |conn| write::set_setting(conn, &name, &value))
            .await
    }

    pub(crate) async fn remember(&self, note: Note) -> Result<(), Error> {
        let at = nanoseconds(note.written_at)?;
        self.write(true, move |conn| write::remember(conn, &note, at))
            .await
    }

    pub(crate) async fn audit(&self, deed: Deed) -> Result<AuditEntry, Error> {
        let at = nanoseconds(deed.at)?;
        let details = json("the facts of a deed", &deed.details)?;
        self.write(true, move |conn| write::audit(conn, &deed, at, &details))
            .await
    }

    pub(crate) async fn move_switch(
        &self,
        to: SwitchMove,
        by: &UserId,
        at: Timestamp,
        deed: Option<Deed>,
    ) -> Result<Switch, Error> {
        let by = by.clone();
        let deed = match deed {
            Some(deed) => {
                let (done, details) = (nanoseconds(deed.at)?, json("the facts of a deed", &deed.details)?);
                Some((deed, done, details))
            }
            None => None,
        };
        let stops = matches!(to, SwitchMove::Stop { .. });
        let need = if stops { Need::Always } else { Need::Synced };
        // Nobody's name is written where anybody could have written it. Who did it is written down when that can be signed.
        let unsigned = stops.then(|| {
            let (to, by, owed) = (to.clone(), by.clone(), deed.clone());
            let deed = deed
                .clone()
                .map(|(deed, done, _)| (Deed { actor: None, ..deed }, done));
            Unsigned {
                work: Box::new(move |conn: &Connection| {
                    let switch = write::move_switch(conn, &to, &by, at)?;
                    if let Some((deed, done)) = &deed {
                        write::stop_without_key(conn, deed, *done)?;
                    }
                    Ok(switch)
                }),
                owed,
            }
        });
        let without_key = self.keyring().is_none();
        let work = move |conn: &Connection| {
            let switch = write::move_switch(conn, &to, &by, at)?;
            match &deed {
                Some((deed, done, _)) if stops && without_key && look::last_checkpoint(conn)?.is_some() => {
                    write::stop_without_key(conn, deed, *done)?;
                }
                Some((deed, done, details)) => {
                    write::audit(conn, deed, *done, details)?;
                }
                None => {}
            }
            Ok(switch)
        };
        self.write_as(need, work, unsigned).await
    }

    pub(crate) async fn create_user(&self, user: User) -> Result<User, Error> {
        self.write(true, move |conn| {
            write::create_user(conn, &user)?;
            Ok(user.clone())
        })
        .await
    }

    pub(crate) async fn seen(&self, user: &UserId, at: Timestamp, at_most_every: i64) -> Result<(), Error> {
        let (user, at) = (user.clone(), nanoseconds(at)?);
        self.write(false, move |conn| write::seen(conn, &user, at, at_most_every))
            .await
    }

    pub(crate) async fn used(&self, token: &str, at: Timestamp, at_most_every: i64) -> Result<(), Error> {
        let (token, at) = (token.to_owned(), nanoseconds(at)?);
        self.write(false, move |conn| write::used(conn, &token, at, at_most_every))
            .await
    }

    pub(crate) async fn change_user(&self, id: &UserId, change: UserChange) -> Result<User, Error> {
        let id = id.clone();
        self.write(true, move |conn| write::change_user(conn, &id, &change))
            .await
    }

    pub(crate) async fn remove_user(&self, id: &UserId) -> Result<(), Error> {
        let id = id.clone();
        self.write(true, move |conn| write::remove_user(conn, &id)).await
    }

    pub(crate) async fn create_login(&self, login: Login) -> Result<(), Error> {
        self.write(true, move |conn| write::create_login(conn, &login))
            .await
    }

    pub(crate) async fn extend_login(&self, hash: &ContentHash, until: Timestamp) -> Result<(), Error> {
        let (hash, until) = (*hash, nanoseconds(until)?);
        self.write(false, move |conn| write::extend_login(conn, &hash, until))
            .await
    }

    pub(crate) async fn remove_login(&self, hash: &ContentHash) -> Result<(), Error> {
        let hash = *hash;
        self.write(true, move |conn| write::remove_login(conn, &hash))
            .await
    }

    pub(crate) async fn remove_logins(&self, user: &UserId, but: Option<&ContentHash>) -> Result<(), Error> {
        let (user, but) = (user.clone(), but.copied());
        self.write(true, move |conn| write::remove_logins(conn, &user, but.as_ref()))
            .await
    }

    pub(crate) async fn create_link(&self, link: Link) -> Result<(), Error> {
        self.write(true, move |conn| write::create_link(conn, &link))
            .await
    }

    pub(crate) async fn use_link(&self, hash: &ContentHash, now: Timestamp) -> Result<Option<User>, Error> {
        let (hash, now) = (*hash, nanoseconds(now)?);
        self.write(true, move |conn| write::use_link(conn, &hash, now))
            .await
    }

    pub(crate) async fn create_token(&self, token: ApiToken) -> Result<(), Error> {
        self.write(true, move |conn| write::create_token(conn, &token))
            .await
    }

    pub(crate) async fn revoke_token(
        &self,
        id: &str,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let (id, user, now) = (id.to_owned(), user.cloned(), nanoseconds(now)?);
        self.write(true, move |conn| {
            write::revoke_token(conn, &id, user.as_ref(), now)
        })
        .await
    }

    pub(crate) async fn save_view(&self, view: SavedView) -> Result<(), Error> {
        self.write(true, move |conn| write::save_view(conn, &view)).await
    }

    pub(crate) async fn remove_view(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let (user, id) = (user.clone(), id.to_owned());
        self.write(true, move |conn| write::remove_view(conn, &user, &id))
            .await
    }

    pub(crate) async fn keep_catalogue(&self, hash: ContentHash, body: String) -> Result<(), Error> {
        self.write(true, move |conn| write::keep_catalogue(conn, &hash, &body))
            .await
    }
}
