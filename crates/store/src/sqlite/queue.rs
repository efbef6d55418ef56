//! The queue: each function runs inside a transaction that holds the write lock, so counting and claiming are one
//! step for every process. Each change of status leaves an event.

use interlock_protocol::{EventBody, Label, SessionId, Status, UserId, WorkerId};
use interlock_seal::Keyring;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::apply::{insert_event, key_of, set_status};
use super::fault::{Fault, text};
use super::{covered, read, seal};
use crate::prepare::{integer, is_terminal, json, nanoseconds};
use crate::queue::{Cancelled, Concurrency, QueueLimits, Submitted};
use crate::row::event_row;
use crate::{Claim, Error, NewSession, Session};

/// Workers that were not heard of for this long, and have no session, are forgotten.
const FORGET_WORKERS_AFTER: i64 = 24 * 60 * 60 * 1_000_000_000;

/// An event that the store itself has to tell. Says its place.
fn tell(conn: &Connection, key: i64, at: i64, body: &EventBody) -> Result<i64, Fault> {
    let number = conn
        .prepare_cached("UPDATE sessions SET last_event = last_event + 1 WHERE key = ? RETURNING last_event")?
        .query_row([key], |row| row.get(0))?;
    insert_event(conn, key, number, at, &event_row(None, None, body)?)?;
    Ok(number)
}

/// The session went to another status. Says the event's place.
pub(super) fn tell_status(conn: &Connection, key: i64, at: i64, status: Status) -> Result<i64, Fault> {
    let told = if is_terminal(status) {
        EventBody::SessionCompleted { status }
    } else {
        EventBody::SessionStatus { status }
    };
    tell(conn, key, at, &told)
}

pub(crate) fn submit(
    conn: &Connection,
    keyring: Option<&Keyring>,
    session: &NewSession,
    limits: QueueLimits,
) -> Result<Submitted, Fault> {
    if let Some(key) = &session.idempotency_key {
        let known: Option<String> = conn
            .prepare_cached("SELECT id FROM sessions WHERE idempotency_key = ?")?
            .query_row([key], |row| row.get(0))
            .optional()?;
        if let Some(known) = known {
            let known = text(&known)?;
            seal::check(conn, keyring, &known)?;
            return Ok(Submitted::Duplicate(known));
        }
    }
    // A session that somebody added to the file does not swallow alerts: the next one starts a session of its own.
    if let Some(fingerprint) = &session.fingerprint
        && let Some(open) = super::lists::open_with_fingerprint(conn, fingerprint)?
    {
        match seal::check(conn, keyring, &open) {
            Ok(()) => return Ok(Submitted::Duplicate(open)),
            Err(Fault::Other(Error::Altered { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    check_room(conn, limits)?;
    let at = nanoseconds(session.at)?;
    let key: i64 = conn
        .prepare_cached(
            "INSERT INTO sessions (id, kind, channel, owner, alert_type, chain, level, priority, idempotency_key, \
             created_at, status, last_interaction_at, fingerprint, title_key) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, lower(substr(?, 1, 64))) RETURNING key",
        )?
        .query_row(
            params![
                session.id.as_str(),
                session.kind.as_str(),
                session.channel,
                session.owner.as_ref().map(UserId::as_str),
                session.alert_type,
                session.chain,
                session.level.as_str(),
                session.priority,
                session.idempotency_key,
                at,
                at,
                session.fingerprint,
                session.title
            ],
            |row| row.get(0),
        )
        .map_err(|error| if super::fault::is_taken(&error) { Fault::from(Error::Duplicate {
                what: "session",
                id: session.id.to_string(),
            }) } else { error.into() })?;
    conn.prepare_cached("INSERT INTO session_texts (session, title, input, options) VALUES (?, ?, ?, ?)")?
        .execute(params![
            key,
            session.title,
            session.input,
            json("a session's options", &session.options)?
        ])?;
    let created = EventBody::SessionCreated {
        kind: session.kind,
        title: label(&session.title)?,
        by: session.owner.clone(),
    };
    tell(conn, key, at, &created)?;
    Ok(Submitted::New)
}

fn check_room(conn: &Connection, limits: QueueLimits) -> Result<(), Fault> {
    let pending: i64 = conn
        .prepare_cached(
            "SELECT count(*) FROM sessions INDEXED BY sessions_open \
             WHERE completed_at IS NULL AND status = 'pending'",
        )?
        .query_row([], |row| row.get(0))?;
    if pending >= i64::from(limits.max_pending) {
        return Err(Error::QueueFull {
            max: limits.max_pending,
        }
        .into());
    }
    Ok(())
}

/// A title as an event can carry it: the first line of what people can see, shortened.
fn label(title: &str) -> Result<Label, Fault> {
    let mut short = String::new();
    for c in title.chars() {
        let c = if c.is_whitespace() { ' ' } else { c };
        let mut one = [0; 4];
        // The label's own check says which characters it takes.
        if c != ' ' && Label::new(&*c.encode_utf8(&mut one)).is_err() {
            continue;
        }
        if short.len() + c.len_utf8() > 120 {
            break;
        }
        short.push(c);
    }
    let short = match short.trim() {
        "" => "untitled",
        short => short,
    };
    Label::new(short).map_err(|error| {
        let (what, reason) = ("a title", error.to_string());
        Error::Unstorable { what, reason }.into()
    })
}

pub(crate) fn heartbeat(conn: &Connection, worker: &WorkerId, now: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO workers (id, heartbeat_at) VALUES (?, ?) \
         ON CONFLICT (id) DO UPDATE SET heartbeat_at = max(heartbeat_at, excluded.heartbeat_at)",
    )?
    .execute(params![worker.as_str(), now])?;
    Ok(())
}

pub(crate) fn claim_next(
    conn: &Connection,
    worker: &WorkerId,
    now: i64,
    limits: Concurrency,
    keyring: Option<&Keyring>,
) -> Result<Option<(Claim, Session)>, Fault> {
    let (overall, own): (i64, i64) = conn
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE worker = ?) FROM sessions INDEXED BY sessions_open \
             WHERE completed_at IS NULL AND status IN ('in_progress', 'cancelling')",
        )?
        .query_row([worker.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let full =
        own >= i64::from(limits.worker) || limits.overall.is_some_and(|most| overall >= i64::from(most));
    if full {
        return Ok(None);
    }
    loop {
        let next: Option<i64> = conn
            .prepare_cached(
                "SELECT key FROM sessions INDEXED BY sessions_open \
                 WHERE completed_at IS NULL AND status = 'pending' ORDER BY priority DESC, key LIMIT 1",
            )?
            .query_row([], |row| row.get(0))
            .optional()?;
        let Some(key) = next else { return Ok(None) };
        // The indexes of a large file are not compared with their tables when it is opened: the row itself says whether it waits.
        let waits: Option<bool> = conn
            .prepare_cached(
                "SELECT status = 'pending' AND completed_at IS NULL FROM sessions NOT INDEXED WHERE key = ?",
            )?
            .query_row([key], |row| row.get(0))
            .optional()?;
        if waits != Some(true) {
            return Err(Fault::corrupt(
                "the index `sessions_open` disagrees with the table `sessions`",
            ));
        }
        // The seal is looked for by the id, so the id must lead to the row that is taken.
        if !covered::session(conn, key)? {
            return Err(Fault::corrupt(
                "the indexes of the table `sessions` lead to different rows",
            ));
        }
        if keyring.is_some()
            && let Err(error) = seal::check(conn, keyring, &seal::id_of(conn, key)?)
        {
            set_aside(conn, key, now, error)?;
            continue;
        }
        let claim = take(conn, key, worker, now)?;
        return Ok(Some((claim, read::session_by_key(conn, key)?)));
    }
}

/// A session whose rows are not what was signed fails: nothing is done with it, and the others in the queue go on.
fn set_aside(conn: &Connection, key: i64, now: i64, fault: Fault) -> Result<(), Fault> {
    let Fault::Other(error @ Error::Altered { session, what }) = &fault else {
        return Err(fault);
    };
    tracing::error!(%session, what, "the record of a session was changed outside Interlock; the session fails");
    let stands = set_status(conn, key, now, Status::Failed, None, Some(&error.to_string()))?;
    tell_status(conn, key, now, stands)?;
    seal::note_altered(conn, session.as_str(), what, now)
}

pub(crate) fn claim(
    conn: &Connection,
    session: &SessionId,
    worker: &WorkerId,
    now: i64,
) -> Result<Claim, Fault> {
    let key = key_of(conn, session)?;
    match status_of(conn, key)? {
        Status::Pending | Status::Held => take(conn, key, worker, now),
        status => Err(Error::WrongStatus {
            session: session.clone(),
            status,
            wanted: "claimed",
        }
        .into()),
    }
}

/// As [`claim`], and also what has ended. Says where it stood.
pub(crate) fn reopen(
    conn: &Connection,
    session: &SessionId,
    worker: &WorkerId,
    now: i64,
) -> Result<(Claim, Status), Fault> {
    let key = key_of(conn, session)?;
    let stood = status_of(conn, key)?;
    if is_terminal(stood) {
        begin_again(conn, key)?;
    }
    match stood {
        Status::InProgress | Status::Cancelling => Err(Error::WrongStatus {
            session: session.clone(),
            status: stood,
            wanted: "claimed",
        }
        .into()),
        _ => Ok((take(conn, key, worker, now)?, stood)),
    }
}

/// What stopped or hid a session that has ended does not stop it again.
fn begin_again(conn: &Connection, key: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE sessions SET cancel_requested = 0, cancel_by = NULL, deleted_at = NULL, completed_at = NULL \
         WHERE key = ?",
    )?
    .execute([key])?;
    Ok(())
}

fn take(conn: &Connection, key: i64, worker: &WorkerId, now: i64) -> Result<Claim, Fault> {
    // Alive from the first moment: a claim must not be taken over before its first heartbeat.
    heartbeat(conn, worker, now)?;
    let (id, epoch, status): (String, i64, String) = conn
        .prepare_cached(
            "UPDATE sessions SET status = CASE WHEN cancel_requested THEN 'cancelling' ELSE 'in_progress' END, \
             worker = ?1, epoch = epoch + 1, decided = 0, started_at = coalesce(started_at, ?2), \
             last_interaction_at = max(last_interaction_at, ?2) WHERE key = ?3 RETURNING id, epoch, status",
        )?
        .query_row(params![worker.as_str(), now, key], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    tell_status(conn, key, now, text(&status)?)?;
    Ok(Claim {
        session: text(&id)?,
        worker: worker.clone(),
        epoch: u64::try_from(epoch).map_err(Fault::corrupt)?,
    })
}

fn status_of(conn: &Connection, key: i64) -> Result<Status, Fault> {
    let status: String = conn
        .prepare_cached("SELECT status FROM sessions WHERE key = ?")?
        .query_row([key], |row| row.get(0))?;
    text(&status)
}

/// Ends the claim where the session stands.
pub(crate) fn release(conn: &Connection, claim: &Claim, status: Status, now: i64) -> Result<(), Fault> {
    let lost = || Error::ClaimLost {
        session: claim.session.clone(),
    };
    let (key, worker): (i64, Option<String>) = conn
        .prepare_cached("SELECT key, worker FROM sessions WHERE id = ? AND epoch = ?")?
        .query_row(
            params![claim.session.as_str(), integer("an epoch", claim.epoch)?],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?
        .ok_or_else(lost)?;
    match worker {
        Some(worker) if worker == claim.worker.as_str() => {}
        // A last batch with a status has ended the claim already.
        None => return Ok(()),
        Some(_) => return Err(lost().into()),
    }
    if matches!(status, Status::InProgress | Status::Cancelling) {
        return Err(Error::WrongStatus {
            session: claim.session.clone(),
            status,
            wanted: "released: nobody would work on it",
        }
        .into());
    }
    let stands = set_status(conn, key, now, status, None, None)?;
    tell_status(conn, key, now, stands)?;
    Ok(())
}

/// Back to the queue. Says the place of the event that says so.
pub(super) fn put_back(conn: &Connection, key: i64, now: i64) -> Result<i64, Fault> {
    conn.prepare_cached(
        "UPDATE sessions SET status = 'pending', worker = NULL, completed_at = NULL, \
         last_interaction_at = max(last_interaction_at, ?1) WHERE key = ?2",
    )?
    .execute(params![now, key])?;
    tell_status(conn, key, now, Status::Pending)
}

/// A held session waits for a worker again. One that waits or is worked on stays as it is.
pub(crate) fn resubmit(conn: &Connection, session: &SessionId, now: i64) -> Result<(), Fault> {
    let key = key_of(conn, session)?;
    match status_of(conn, key)? {
        Status::Held => put_back(conn, key, now).map(drop),
        Status::Pending | Status::InProgress | Status::Cancelling => Ok(()),
        status => Err(Error::WrongStatus {
            session: session.clone(),
            status,
            wanted: "put back into the queue",
        }
        .into()),
    }
}

/// An ended session gets its next input.
pub(crate) fn submit_input(
    conn: &Connection,
    session: &SessionId,
    (input, options): (&str, Option<&str>),
    limits: QueueLimits,
    now: i64,
) -> Result<(), Fault> {
    let key = key_of(conn, session)?;
    let status = status_of(conn, key)?;
    if !is_terminal(status) {
        return Err(Error::WrongStatus {
            session: session.clone(),
            status,
            wanted: "given another input before it has answered",
        }
        .into());
    }
    check_room(conn, limits)?;
    conn.prepare_cached(
        "UPDATE session_texts SET input = ?1, options = coalesce(?2, options), error = NULL WHERE session = ?3",
    )?
    .execute(params![input, options, key])?;
    begin_again(conn, key)?;
    put_back(conn, key, now).map(drop)
}

/// What a dead worker left goes back to the queue, and its claim can write no more.
pub(crate) fn take_over(conn: &Connection, now: i64, stale_before: i64) -> Result<Vec<SessionId>, Fault> {
    let left: Vec<(i64, String)> = conn
        .prepare_cached(
            "SELECT s.key, s.id FROM sessions s INDEXED BY sessions_open LEFT JOIN workers w ON w.id = s.worker \
             WHERE s.completed_at IS NULL AND s.status IN ('in_progress', 'cancelling') \
             AND (w.heartbeat_at IS NULL OR w.heartbeat_at < ?)",
        )?
        .query_map([stale_before], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let taken = fence_off(conn, left, now)?;
    conn.prepare_cached(
        "DELETE FROM workers WHERE heartbeat_at < ? AND id NOT IN (SELECT worker FROM sessions \
         INDEXED BY sessions_open WHERE completed_at IS NULL AND worker IS NOT NULL)",
    )?
    .execute([stale_before.saturating_sub(FORGET_WORKERS_AFTER)])?;
    Ok(taken)
}

/// What a worker has and does not work on, though it lives, goes back to the queue: work on it broke off where not
/// even that could be kept.
pub(crate) fn put_back_idle(
    conn: &Connection,
    worker: &WorkerId,
    running: &[SessionId],
    now: i64,
    idle_since: i64,
) -> Result<Vec<SessionId>, Fault> {
    let mut left: Vec<(i64, String)> = conn
        .prepare_cached(
            "SELECT key, id FROM sessions INDEXED BY sessions_open WHERE completed_at IS NULL \
             AND status IN ('in_progress', 'cancelling') AND worker = ? AND last_interaction_at < ?",
        )?
        .query_map(params![worker.as_str(), idle_since], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    left.retain(|(_, id)| !running.iter().any(|session| session.as_str() == id));
    fence_off(conn, left, now)
}

/// Back to the queue with a new number, so that whoever had them can write no more.
fn fence_off(conn: &Connection, mut left: Vec<(i64, String)>, now: i64) -> Result<Vec<SessionId>, Fault> {
    left.sort_unstable();
    let mut taken = Vec::with_capacity(left.len());
    for (key, id) in left {
        conn.prepare_cached("UPDATE sessions SET epoch = epoch + 1 WHERE key = ?")?
            .execute([key])?;
        put_back(conn, key, now)?;
        taken.push(text(&id)?);
    }
    Ok(taken)
}

/// Works in every state. What began something that must be wound up is left to a worker.
pub(crate) fn request_cancel(
    conn: &Connection,
    session: &SessionId,
    by: Option<&UserId>,
    now: i64,
) -> Result<Cancelled, Fault> {
    let key = key_of(conn, session)?;
    let status = status_of(conn, key)?;
    if is_terminal(status) {
        return Ok(Cancelled::Ended);
    }
    conn.prepare_cached(
        "UPDATE sessions SET cancel_requested = 1, cancel_by = coalesce(cancel_by, ?1), \
         last_interaction_at = max(last_interaction_at, ?2) WHERE key = ?3",
    )?
    .execute(params![by.map(UserId::as_str), now, key])?;
    match status {
        Status::Pending if !has_loose_ends(conn, key)? => {
            let stands = set_status(conn, key, now, Status::Cancelled, None, None)?;
            tell_status(conn, key, now, stands)?;
            Ok(Cancelled::Now)
        }
        Status::Held => {
            put_back(conn, key, now)?;
            Ok(Cancelled::Requested)
        }
        Status::InProgress => {
            let stands = set_status(conn, key, now, Status::Cancelling, None, None)?;
            tell_status(conn, key, now, stands)?;
            Ok(Cancelled::Requested)
        }
        _ => Ok(Cancelled::Requested),
    }
}

/// A session that began something leaves more than a status behind: calls without receipts, open holds, writes
/// that nobody looked at.
fn has_loose_ends(conn: &Connection, key: i64) -> Result<bool, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM calls LEFT JOIN receipts ON call = key WHERE session = ?1 \
             AND NOT abandoned AND (receipts.body IS NULL OR (pending IS NOT NULL AND verification IS NULL))) \
             OR EXISTS (SELECT 1 FROM holds WHERE session = ?1 AND status = 'pending')",
        )?
        .query_row([key], |row| row.get(0))?)
}
