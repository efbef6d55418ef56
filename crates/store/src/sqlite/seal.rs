//! Signs what was changed, in the transaction that changed it, and checks it before anyone goes on with it.
//!
//! A trigger notes each session that was changed and that nobody works on. Before the transaction is committed, each of
//! them gets a seal: the digests of its rows, chained to the seal before it and signed. A session in progress changes with
//! every step and is sealed when it pauses or ends. What was there when the work began stays as it was: [`frozen`].
//!
//! Nothing is signed that somebody else wrote. A session whose rows were not what was signed before this transaction gets a
//! seal that says so, for good; and entries of the audit log that were added without the key stay unsigned.

use std::collections::HashMap;

use interlock_protocol::{ContentHash, Status};
use interlock_seal::{Keyring, PublicKey, Purpose, Signature};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::audit::audit;
use super::fault::Fault;
use super::read::{hash, number, time};
use super::{digest, frozen};
use crate::seal::{Seal, SealState};
use crate::{Deed, Error};

mod begin;
mod checkpoint;
mod links;
mod order;
mod stopped;
mod verify;

use begin::{Tail, unsigned};
pub(super) use begin::{adopt, begin};
pub(super) use checkpoint::Signed;
use checkpoint::checkpoint;
pub(crate) use checkpoint::{find_head, last_checkpoint, misfit};
use order::Signers;
pub(super) use order::{Order, Outside};
pub(super) use stopped::stop_without_key;
pub(super) use verify::id_of;
use verify::state_by;
pub(crate) use verify::{check, seal_state, verify_record, verify_sessions};

/// What the first seal says in place of a session and a status.
const GENESIS: &str = "genesis";
/// What the last seal of a session says that retention removed.
const REMOVED: &str = "removed";
/// What the seal of a session says whose rows were not what was signed when it changed next.
const ALTERED: &str = "altered";
/// What the seal of a session begins with that is older than signing. Its status follows. What was written before signing began
/// is not proven, so the session never counts as intact.
const OLDER: &str = "older:";
/// The entry of the audit log that says that another key signs from there on.
const KEY_REPLACED: &str = "record.key_replaced";
/// The entry of the audit log about such a session.
const ALTERED_DEED: &str = "session.altered";
/// What may be written without the key: that all writes are stopped.
const WITHOUT_KEY: &str = "writes.stopped";

/// How many bytes of the first seal say which session is the newest that is older than signing. The rest tells stores apart.
const NEWEST_OLDER: usize = 8;

/// The sessions that this transaction changed, and the newest seal of each session. Both are the connection's own: nothing
/// that is in the file, above all no index that disagrees with its table, decides which seal is the newest one.
const NOTE_CHANGES: &str = "\
CREATE TEMP TABLE changed (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TEMP TRIGGER session_changed AFTER UPDATE ON main.sessions
WHEN new.status NOT IN ('in_progress', 'cancelling') OR old.status NOT IN ('in_progress', 'cancelling') BEGIN INSERT OR IGNORE INTO changed VALUES (new.id); END;
CREATE TEMP TRIGGER session_added AFTER INSERT ON main.sessions BEGIN INSERT OR IGNORE INTO changed VALUES (new.id); END;
CREATE TEMP TRIGGER session_removed AFTER DELETE ON main.sessions BEGIN INSERT OR IGNORE INTO changed VALUES (old.id); END;
CREATE TEMP TRIGGER note_written AFTER INSERT ON main.notes WHEN new.session IS NOT NULL BEGIN INSERT OR IGNORE INTO changed VALUES (new.session); END;
CREATE TEMP TRIGGER note_forgotten AFTER DELETE ON main.notes WHEN old.session IS NOT NULL BEGIN INSERT OR IGNORE INTO changed VALUES (old.session); END;
CREATE TEMP TABLE newest_seals (session TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE seals_noted (number INTEGER NOT NULL) STRICT;
INSERT INTO seals_noted VALUES (0);
CREATE TEMP TRIGGER seal_added AFTER INSERT ON main.seals BEGIN INSERT OR REPLACE INTO newest_seals VALUES (new.session, new.number); UPDATE seals_noted SET number = new.number; END;
";

/// The tables that hold what is signed about everything else.
pub(super) const SIGNED_TABLES: [&str; 5] = ["audit", "audit_end", "checkpoints", "seals", "sessions"];

const COLUMNS: &str = "number, session, status, at, parts, previous, public_key, signature, hash";

/// A seal as it is kept.
struct Kept {
    number: i64,
    session: String,
    status: String,
    at: i64,
    parts: Vec<u8>,
    previous: Vec<u8>,
    public_key: Vec<u8>,
    signature: Vec<u8>,
    hash: Vec<u8>,
}

impl Kept {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            session: row.get(1)?,
            status: row.get(2)?,
            at: row.get(3)?,
            parts: row.get(4)?,
            previous: row.get(5)?,
            public_key: row.get(6)?,
            signature: row.get(7)?,
            hash: row.get(8)?,
        })
    }

    /// What is signed: every field, each with its length.
    fn statement(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(160);
        let mut field = |text: &[u8]| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text);
        };
        field(&self.number.to_be_bytes());
        field(self.session.as_bytes());
        field(self.status.as_bytes());
        field(&self.at.to_be_bytes());
        field(ContentHash::of(&self.parts).as_bytes());
        field(&self.previous);
        bytes
    }

    fn own_hash(&self) -> ContentHash {
        let mut bytes = self.statement();
        bytes.extend_from_slice(&self.public_key);
        bytes.extend_from_slice(&self.signature);
        ContentHash::of(bytes)
    }

    /// Why the seal does not count.
    fn fault(&self, keyring: &Keyring) -> Option<String> {
        let Ok(key) = PublicKey::from_bytes(&self.public_key) else {
            return Some("its public key is damaged".to_owned());
        };
        let Ok(signature) = Signature::from_bytes(&self.signature) else {
            return Some("its signature is damaged".to_owned());
        };
        if !keyring.trusts(&key) {
            return Some(format!("it is signed by the key {key}, which is not trusted"));
        }
        if !key.verifies(Purpose::Session, &self.statement(), &signature) {
            return Some("its signature does not fit".to_owned());
        }
        (self.hash != self.own_hash().as_bytes()).then(|| "its hash does not fit".to_owned())
    }

    fn to_seal(&self) -> Result<Seal, Fault> {
        Ok(Seal {
            number: number(self.number)?,
            session: self.session.clone(),
            status: self.status.clone(),
            at: time(self.at)?,
            digest: ContentHash::of(&self.parts),
            previous: hash(&self.previous)?,
            public_key: PublicKey::from_bytes(&self.public_key).map_err(Fault::corrupt)?,
            signature: Signature::from_bytes(&self.signature).map_err(Fault::corrupt)?,
        })
    }
}

fn last(conn: &Connection) -> Result<Option<(i64, Vec<u8>)>, Fault> {
    Ok(conn
        .prepare_cached("SELECT number, hash FROM main.seals NOT INDEXED ORDER BY number DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Notes the newest seal of each session that was added since the last time, by this process or another. Called at the
/// beginning of a transaction.
pub(super) fn note_seals(conn: &Connection) -> Result<(), Fault> {
    let noted: i64 = conn
        .prepare_cached("SELECT number FROM temp.seals_noted")?
        .query_row([], |row| row.get(0))?;
    let newest = last(conn)?.map_or(0, |(number, _)| number);
    if newest > noted {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO temp.newest_seals \
             SELECT session, max(number) FROM main.seals NOT INDEXED WHERE number > ? GROUP BY session",
        )?
        .execute([noted])?;
        conn.prepare_cached("UPDATE temp.seals_noted SET number = ?")?
            .execute([newest])?;
    }
    Ok(())
}

/// The number of a session's newest seal, on the connection that signs.
fn noted(conn: &Connection, id: &str) -> Result<Option<i64>, Fault> {
    Ok(conn
        .prepare_cached("SELECT number FROM temp.newest_seals WHERE session = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

/// The newest seal of each session, as far as somebody has looked. Only seals that were added since are read.
#[derive(Debug, Default)]
pub(super) struct NewestSeals {
    /// The last seal that was looked at.
    noted: i64,
    /// The number of each session's newest seal, and whether it says that the session was removed.
    by_session: HashMap<String, (i64, bool)>,
}

impl NewestSeals {
    /// All of them, as this connection sees the store.
    pub(super) fn all(conn: &Connection) -> Result<Self, Fault> {
        let mut known = Self::default();
        known.follow(conn)?;
        Ok(known)
    }

    /// Reads what was added since, from the table itself and no index of it. Says where the seals end for this connection, which
    /// may see an earlier state of the store than another one did.
    fn follow(&mut self, conn: &Connection) -> Result<i64, Fault> {
        let end = last(conn)?.map_or(0, |(number, _)| number);
        if end > self.noted {
            let mut statement = conn.prepare_cached(
                "SELECT session, number, status = ? FROM main.seals NOT INDEXED WHERE number > ? ORDER BY number",
            )?;
            let mut rows = statement.query(params![REMOVED, self.noted])?;
            while let Some(row) = rows.next()? {
                self.by_session.insert(row.get(0)?, (row.get(1)?, row.get(2)?));
            }
            self.noted = end;
        }
        Ok(end)
    }

    /// The number of a session's newest seal.
    pub(super) fn of(&mut self, conn: &Connection, session: &str) -> Result<Option<i64>, Fault> {
        let end = self.follow(conn)?;
        match self.by_session.get(session) {
            // Another connection saw a newer one.
            Some((number, _)) if *number > end => Ok(conn
                .prepare_cached("SELECT max(number) FROM main.seals NOT INDEXED WHERE session = ?")?
                .query_row([session], |row| row.get(0))?),
            found => Ok(found.map(|(number, _)| *number)),
        }
    }
}

fn seal_row(conn: &Connection, number: i64) -> Result<Option<Kept>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM main.seals NOT INDEXED WHERE number = ?");
    Ok(conn
        .prepare_cached(&sql)?
        .query_row([number], Kept::read)
        .optional()?)
}

/// The newest seal of a session, on the connection that signs.
fn of_session(conn: &Connection, id: &str) -> Result<Option<Kept>, Fault> {
    match noted(conn, id)? {
        Some(number) => seal_row(conn, number),
        None => Ok(None),
    }
}

/// Adds a seal.
fn add(
    conn: &Connection,
    keyring: &Keyring,
    (session, status, at): (&str, &str, i64),
    parts: Vec<u8>,
) -> Result<(), Fault> {
    let signer = keyring.signer().ok_or(Error::NoSigningKey)?;
    let (before, previous) = last(conn)?.unwrap_or_else(|| (0, ContentHash::of("").as_bytes().to_vec()));
    let mut row = Kept {
        number: before + 1,
        session: session.to_owned(),
        status: status.to_owned(),
        at,
        parts,
        previous,
        public_key: signer.public().as_bytes().to_vec(),
        signature: Vec::new(),
        hash: Vec::new(),
    };
    row.signature = signer
        .sign(Purpose::Session, &row.statement())
        .as_bytes()
        .to_vec();
    row.hash = row.own_hash().as_bytes().to_vec();
    conn.prepare_cached(&format!(
        "INSERT INTO seals ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ))?
    .execute(params![
        row.number,
        row.session,
        row.status,
        row.at,
        row.parts,
        row.previous,
        row.public_key,
        row.signature,
        row.hash
    ])?;
    Ok(())
}

/// Whether the end of the audit log is what was signed last, before a transaction of this process begins.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The number and the signature of the last checkpoint that was found to be good.
    good: std::cell::RefCell<Signed>,
    /// Whether a problem was reported already.
    warned: std::cell::Cell<bool>,
}

impl Watch {
    /// This process has just written this one.
    pub(super) fn wrote(&self, signed: Signed) {
        *self.good.borrow_mut() = signed;
    }

    /// Asked at the beginning of a transaction. Says in the audit log if writes were stopped without the key.
    pub(super) fn is_signed(&self, conn: &Connection, keyring: &Keyring) -> Result<bool, Fault> {
        type Row = (Signed, (i64, Vec<u8>), (i64, Vec<u8>), Vec<u8>);
        let signed: Option<Row> = conn
            .prepare_cached(
                "SELECT number, signature, audit_number, audit_hash, seal_number, seal_hash, public_key \
                 FROM checkpoints ORDER BY number DESC LIMIT 1",
            )?
            .query_row([], |row| {
                Ok((
                    (row.get(0)?, row.get(1)?),
                    (row.get(2)?, row.get(3)?),
                    (row.get(4)?, row.get(5)?),
                    row.get(6)?,
                ))
            })
            .optional()?;
        let Some(((number, signature), audit, seal, key)) = signed else {
            return Ok(self.good.borrow().0 == 0 && unsigned(conn, keyring)? == Tail::Signed);
        };
        let end: (i64, Vec<u8>) = conn
            .prepare_cached("SELECT number, hash FROM audit_end")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (known, known_signature) = self.good.borrow().clone();
        let is_known = (number, &signature) == (known, &known_signature);
        if is_known && end == audit && last(conn)?.is_none_or(|last| last == seal) {
            return Ok(true);
        }
        let own = keyring.signer().map(interlock_seal::Signer::public);
        let why = if number < known {
            Some(format!("checkpoint {known} is missing"))
        } else if own.is_none_or(|own| key != own.as_bytes()) {
            // This process has signed the end of the store when it was opened.
            Some(format!(
                "checkpoint {number} is signed by another key than the one that signs now"
            ))
        } else {
            match unsigned(conn, keyring)? {
                Tail::Signed => None,
                Tail::Stopped(by) => {
                    by.note(conn)?;
                    None
                }
                Tail::Wrong(why) => Some(why),
            }
        };
        match why {
            None => {
                *self.good.borrow_mut() = (number, signature);
                Ok(true)
            }
            Some(why) => {
                if !self.warned.replace(true) {
                    tracing::error!(
                        why,
                        "the audit log was changed outside Interlock; its end is not signed any more. Run `interlock audit verify`"
                    );
                }
                Ok(false)
            }
        }
    }
}

/// Signs what the transaction changed. Called before it is committed. `before` sees the store as it was before the
/// transaction; nothing where no other process can reach it.
pub(super) fn sign_changes(
    conn: &Connection,
    keyring: &Keyring,
    before: Option<&Connection>,
    log_is_signed: bool,
) -> Result<Option<Signed>, Fault> {
    let changed: Vec<String> = conn
        .prepare_cached("SELECT id FROM changed")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &changed {
        // This transaction has added no seal of it yet.
        let newest = noted(conn, id)?;
        let altered = match before {
            Some(before) => altered(before, keyring, id, newest)?,
            None => None,
        };
        if let Some(what) = altered {
            seal_altered(conn, keyring, id, &what)?;
        } else {
            let is_older = of_session(conn, id)?.is_some_and(|last| last.status.starts_with(OLDER));
            seal(conn, keyring, id, if is_older { OLDER } else { "" })?;
        }
    }
    if !changed.is_empty() {
        forget_changes(conn)?;
    }
    if log_is_signed {
        checkpoint(conn, keyring)
    } else {
        Ok(None)
    }
}

/// What was changed is signed, or must not be.
pub(super) fn forget_changes(conn: &Connection) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM temp.changed")?.execute([])?;
    Ok(())
}

/// What was wrong with a session before this transaction changed it.
fn altered(
    before: &Connection,
    keyring: &Keyring,
    id: &str,
    newest: Option<i64>,
) -> Result<Option<String>, Fault> {
    if let Some(what) = links::planted(before)? {
        return Ok(Some(what));
    }
    if digest::key_and_status(before, id)?.is_none() {
        let last = match newest {
            Some(number) => seal_row(before, number)?,
            None => None,
        };
        if newest.is_none() || last.is_some_and(|last| last.session == id && last.status == REMOVED) {
            return Ok(None);
        }
    }
    let signers = Signers::new(keyring, Outside::SignsHere);
    Ok(match state_by(before, &signers, id, newest)? {
        SealState::Altered { what } => Some(what),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => None,
    })
}

/// A session that was changed outside Interlock is never signed as if it were whole: its seal says that it was changed.
fn seal_altered(conn: &Connection, keyring: &Keyring, id: &str, what: &str) -> Result<(), Fault> {
    if of_session(conn, id)?.is_some_and(|last| last.status == ALTERED) {
        return Ok(());
    }
    let at: i64 = conn
        .prepare_cached(
            "SELECT max(coalesce((SELECT last_interaction_at FROM sessions WHERE id = ?), 0), \
             coalesce((SELECT max(at) FROM audit), 0))",
        )?
        .query_row([id], |row| row.get(0))?;
    tracing::error!(
        session = id,
        what,
        "the record of a session was changed outside Interlock; it is not signed any more. Run `interlock audit verify`"
    );
    note_altered(conn, id, what, at)?;
    add(conn, keyring, (id, ALTERED, at), what.as_bytes().to_vec())
}

/// The audit log says once of a session that it was changed outside Interlock.
pub(crate) fn note_altered(conn: &Connection, session: &str, what: &str, at: i64) -> Result<(), Fault> {
    let known: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM audit WHERE action = ? AND subject = ?)")?
        .query_row([ALTERED_DEED, session], |row| row.get(0))?;
    if known {
        return Ok(());
    }
    let deed = Deed {
        at: time(at)?,
        actor: None,
        action: ALTERED_DEED.to_owned(),
        subject: Some(session.to_owned()),
        details: serde_json::json!({ "what": what }),
    };
    audit(conn, &deed, at, &deed.details.to_string()).map(drop)
}

/// How many sessions were found changed outside Interlock.
pub(super) fn altered_sessions(conn: &Connection) -> Result<u64, Fault> {
    number(
        conn.prepare_cached("SELECT count(*) FROM audit WHERE action = ?")?
            .query_row([ALTERED_DEED], |row| row.get(0))?,
    )
}

/// Signs what a session is now. `mark` comes before the status: [`OLDER`], or nothing.
fn seal(conn: &Connection, keyring: &Keyring, id: &str, mark: &str) -> Result<(), Fault> {
    let found: Option<(i64, String, i64)> = conn
        .prepare_cached(
            "SELECT key, status, last_interaction_at FROM sessions WHERE id = ? AND deleted_at IS NOT 0",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let marked = |status: &str| format!("{mark}{status}");
    match found {
        // That it was taken up is signed, once, with what was there by then. Its rows are signed again when the work is over.
        Some((key, status, at)) if is_worked_on(&status) => match of_session(conn, id)? {
            // A note that was forgotten, because there are too many, is the only row that work removes.
            Some(last)
                if is_worked_on(unmarked(&last.status))
                    && frozen::changed(conn, key, &last.parts)?.is_empty() =>
            {
                Ok(())
            }
            _ => add(
                conn,
                keyring,
                (id, &marked(&status), at),
                frozen::began(conn, key)?,
            ),
        },
        Some((key, status, at)) => add(
            conn,
            keyring,
            (id, &marked(&status), at),
            digest::parts(conn, key)?,
        ),
        None => match of_session(conn, id)? {
            Some(last) if last.status != REMOVED => add(conn, keyring, (id, REMOVED, last.at), Vec::new()),
            _ => Ok(()),
        },
    }
}

/// The status that a seal says, without what is said about its age.
fn unmarked(status: &str) -> &str {
    status.strip_prefix(OLDER).unwrap_or(status)
}

fn is_worked_on(status: &str) -> bool {
    status == Status::InProgress.as_str() || status == Status::Cancelling.as_str()
}
