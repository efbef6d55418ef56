//! Signs what was changed, in the transaction that changed it, and checks it before anyone goes on with it.
//!
//! A trigger notes each session that was changed and that nobody works on. Before the transaction is committed, each of
//! them gets a seal: the digests of its rows, chained to the seal before it and signed. A session in progress changes with
//! every step and is sealed when it pauses or ends.
//!
//! Nothing is signed that somebody else wrote. A session whose rows were not what was signed before this transaction gets a
//! seal that says so, for good; and entries of the audit log that were added without the key stay unsigned.

use std::collections::{BTreeSet, HashMap};

use interlock_protocol::{ContentHash, SessionId, Status};
use interlock_seal::{Keyring, PublicKey, Purpose, Signature};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::audit::{added_after, audit, verify_audit};
use super::fault::text;
use super::read::{hash, number, time};
use super::{digest, migrate};
use crate::mark::Mark;
use crate::seal::{Checkpoint, HeadFound, MarkState, Problem, RecordVerified, Seal, SealState};
use crate::{Deed, Error};

/// What the first seal says in place of a session and a status.
const GENESIS: &str = "genesis";
/// What the last seal of a session says that retention removed.
const REMOVED: &str = "removed";
/// What the seal of a session says whose rows were not what was signed when it changed next.
const ALTERED: &str = "altered";
/// What the seal of a session begins with that is older than signing. Its status follows. What was written before signing began
/// is not proven, so the session never counts as intact.
const OLDER: &str = "older:";
/// The entry of the audit log about such a session.
const ALTERED_DEED: &str = "session.altered";
/// What may be written without the key: whatever stops writes.
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

    fn to_seal(&self) -> Result<Seal, Error> {
        Ok(Seal {
            number: number(self.number)?,
            session: self.session.clone(),
            status: self.status.clone(),
            at: time(self.at)?,
            digest: ContentHash::of(&self.parts),
            previous: hash(&self.previous)?,
            public_key: PublicKey::from_bytes(&self.public_key).map_err(Error::corrupt)?,
            signature: Signature::from_bytes(&self.signature).map_err(Error::corrupt)?,
        })
    }
}

fn last(conn: &Connection) -> Result<Option<(i64, Vec<u8>)>, Error> {
    Ok(conn
        .prepare_cached("SELECT number, hash FROM seals ORDER BY number DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Notes the newest seal of each session that was added since the last time, by this process or another. Called at the
/// beginning of a transaction.
pub(super) fn note_seals(conn: &Connection) -> Result<(), Error> {
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
fn noted(conn: &Connection, id: &str) -> Result<Option<i64>, Error> {
    Ok(conn
        .prepare_cached("SELECT number FROM temp.newest_seals WHERE session = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

/// The same on any connection: looks at every seal.
fn looked_up(conn: &Connection, id: &str) -> Result<Option<i64>, Error> {
    Ok(conn
        .prepare_cached("SELECT max(number) FROM main.seals NOT INDEXED WHERE session = ?")?
        .query_row([id], |row| row.get(0))?)
}

fn seal_row(conn: &Connection, number: i64) -> Result<Option<Kept>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM main.seals NOT INDEXED WHERE number = ?");
    Ok(conn
        .prepare_cached(&sql)?
        .query_row([number], Kept::read)
        .optional()?)
}

/// The newest seal of a session, on the connection that signs.
fn of_session(conn: &Connection, id: &str) -> Result<Option<Kept>, Error> {
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
) -> Result<(), Error> {
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

/// Makes a connection that writes ready to sign. A store is refused that holds sessions and no seal, that ends before its
/// mark or has lost it, or whose audit log was added to without the key: somebody cut it off or wrote to it.
pub(super) fn begin(conn: &Connection, keyring: Option<&Keyring>, mark: Option<&Mark>) -> Result<(), Error> {
    begin_with(conn, keyring, mark, Found::Checked)
}

/// The same for a store that somebody says is as it should be: it is signed as it is.
pub(super) fn adopt(conn: &Connection, keyring: Option<&Keyring>, mark: Option<&Mark>) -> Result<(), Error> {
    begin_with(conn, keyring, mark, Found::Adopted)
}

/// What becomes of a store that is not as it was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Checked,
    Adopted,
}

fn begin_with(
    conn: &Connection,
    keyring: Option<&Keyring>,
    mark: Option<&Mark>,
    found: Found,
) -> Result<(), Error> {
    let Some(keyring) = keyring else {
        return match last(conn)? {
            Some(_) => Err(Error::NoSigningKey),
            None => Ok(()),
        };
    };
    if keyring.signer().is_none() {
        return Err(Error::NoSigningKey);
    }
    conn.execute_batch(NOTE_CHANGES)?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let is_new = match begin_signing(conn, keyring, mark, found) {
        Ok(is_new) => {
            conn.execute_batch("COMMIT")?;
            is_new
        }
        Err(error) => {
            conn.execute_batch("ROLLBACK")?;
            return Err(error);
        }
    };
    let Some(mark) = mark else {
        return Ok(());
    };
    if found == Found::Adopted {
        mark.remove()?;
    }
    // A signed store without a mark is refused, so it has one from the beginning. What it says is on the disk before.
    if is_new || found == Found::Adopted {
        conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        if let Some(checkpoint) = last_checkpoint(conn)? {
            mark.follow(&checkpoint);
        }
    }
    Ok(())
}

fn begin_signing(
    conn: &Connection,
    keyring: &Keyring,
    mark: Option<&Mark>,
    found: Found,
) -> Result<bool, Error> {
    // What a planted trigger writes would be signed with the rest.
    migrate::check_schema(conn)?;
    note_seals(conn)?;
    let signed = last(conn)?.is_some();
    let first = seal_row(conn, 1)?;
    match &first {
        Some(first) => match first.fault(keyring) {
            Some(why) => {
                return Err(Error::Seals {
                    why: format!("seal 1: {why}"),
                });
            }
            None => newest_fits(conn, keyring)?,
        },
        None if signed => {
            return Err(Error::Seals {
                why: "the first seal is missing".to_owned(),
            });
        }
        None => {}
    }
    if found == Found::Checked {
        // The mark first: it says more than that there is no seal.
        if let Some(mark) = mark {
            if let Some(own) = first.as_ref().and_then(own_beginning) {
                mark.begun_with(&own);
            }
            check_mark(conn, keyring, mark)?;
        }
        let (sessions, entries) = (sessions(conn)?, unsigned(conn, keyring)?);
        match entries {
            _ if !signed && (sessions > 0 || entries.is_some()) => return Err(Error::Unsealed { sessions }),
            Some(why) => return Err(Error::Unsigned { why }),
            None => {}
        }
    }
    if !signed {
        let at: i64 = conn.query_row(
            "SELECT coalesce(max(last_interaction_at), 0) FROM sessions",
            [],
            |row| row.get(0),
        )?;
        // No session is older than signing, unless a seal of its own says so. And no two stores begin alike.
        let mut parts = [0; NEWEST_OLDER].to_vec();
        let own: Vec<u8> = conn.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
        parts.extend_from_slice(&own);
        add(conn, keyring, (GENESIS, GENESIS, at), parts)?;
        seal_older(conn, keyring)?;
    } else if first.as_ref().is_some_and(says_older) {
        // Once only the first seal said which sessions are older than signing, and a session that was planted could be one.
        match (found, without_seal(conn)?.len()) {
            (_, 0) => {}
            (Found::Adopted, _) => seal_older(conn, keyring)?,
            (Found::Checked, sessions) => {
                return Err(Error::Unsealed {
                    sessions: sessions as u64,
                });
            }
        }
    }
    if let Some(mark) = mark
        && let Some(own) = seal_row(conn, 1)?.as_ref().and_then(own_beginning)
    {
        mark.begun_with(&own);
    }
    checkpoint(conn, keyring)?;
    Ok(!signed)
}

/// The hash of the first seal, where no other store has the same.
fn own_beginning(first: &Kept) -> Option<ContentHash> {
    (first.parts.len() > NEWEST_OLDER)
        .then(|| hash(&first.hash).ok())
        .flatten()
}

/// The store reaches as far as each of its marks, and has one if it holds anything.
fn check_mark(conn: &Connection, keyring: &Keyring, mark: &Mark) -> Result<(), Error> {
    let marks = mark.read(keyring)?;
    for (file, marked) in &marks {
        if let Some(why) = misfit(conn, marked)? {
            return Err(Error::Behind {
                file: file.clone(),
                at: marked.at,
                why,
            });
        }
    }
    mark.led_elsewhere()?;
    let seals = last(conn)?.map_or(0, |(number, _)| number);
    let entries: i64 = conn.query_row("SELECT count(*) FROM (SELECT 1 FROM audit LIMIT 1)", [], |row| {
        row.get(0)
    })?;
    let holds_anything = seals > 1 || (seals > 0 && (entries > 0 || sessions(conn)? > 0));
    if marks.is_empty() && holds_anything && mark.is_usable() {
        return Err(Error::Mark {
            file: mark.file().to_owned(),
            why: "it is missing, and the store is signed: the store was moved here or exchanged for another one, or its mark was \
                  removed"
                .to_owned(),
        });
    }
    Ok(())
}

/// Whether the first seal says that some sessions have no seal of their own.
fn says_older(first: &Kept) -> bool {
    first
        .parts
        .first_chunk::<NEWEST_OLDER>()
        .is_some_and(|newest| i64::from_be_bytes(*newest) != 0)
}

/// The sessions that no seal says anything about.
fn without_seal(conn: &Connection) -> Result<Vec<String>, Error> {
    Ok(conn
        .prepare(
            "SELECT id FROM main.sessions NOT INDEXED \
             WHERE deleted_at IS NOT 0 AND id NOT IN (SELECT session FROM temp.newest_seals) ORDER BY key",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

/// Signs what each session without a seal is now, and that it is older than signing.
fn seal_older(conn: &Connection, keyring: &Keyring) -> Result<(), Error> {
    for id in without_seal(conn)? {
        seal(conn, keyring, &id, OLDER)?;
    }
    Ok(())
}

fn sessions(conn: &Connection) -> Result<u64, Error> {
    number(conn.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?)
}

/// The newest seal and checkpoint are by keys that are trusted: a wrong key is noticed when the store is opened.
fn newest_fits(conn: &Connection, keyring: &Keyring) -> Result<(), Error> {
    let newest = last(conn)?.map_or(0, |(number, _)| number);
    match seal_row(conn, newest)? {
        Some(row) => match row.fault(keyring) {
            Some(why) => Err(Error::Seals {
                why: format!("seal {}: {why}", row.number),
            }),
            None => Ok(()),
        },
        None => Ok(()),
    }?;
    match last_checkpoint(conn)? {
        Some(last) if !keyring.trusts(&last.public_key) => Err(Error::Seals {
            why: format!(
                "checkpoint {}: it is signed by the key {}, which is not trusted",
                last.number, last.public_key
            ),
        }),
        _ => Ok(()),
    }
}

/// Why the end of the audit log must not be signed: something other than a stop of all writes was added to it, or it was
/// cut, since the last checkpoint. Asked when no transaction of this process has added to it.
fn unsigned(conn: &Connection, keyring: &Keyring) -> Result<Option<String>, Error> {
    let signed = last_checkpoint(conn)?;
    if let Some(checkpoint) = &signed
        && !checkpoint.verifies(keyring)
    {
        return Ok(Some(format!(
            "checkpoint {} is not signed by a key that is trusted",
            checkpoint.number
        )));
    }
    let (number, hash) = signed.as_ref().map_or_else(
        || (0, ContentHash::of("")),
        |checkpoint| (checkpoint.audit_number, checkpoint.audit_hash),
    );
    if let Some(why) = signed
        .as_ref()
        .map(|signed| misfit(conn, signed))
        .transpose()?
        .flatten()
    {
        return Ok(Some(why));
    }
    added_after(conn, number, &hash, WITHOUT_KEY)
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

    /// Asked at the beginning of a transaction.
    pub(super) fn is_signed(&self, conn: &Connection, keyring: &Keyring) -> Result<bool, Error> {
        let signed: Option<(i64, Vec<u8>, i64, Vec<u8>)> = conn
            .prepare_cached(
                "SELECT number, signature, audit_number, audit_hash FROM checkpoints ORDER BY number DESC LIMIT 1",
            )?
            .query_row([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .optional()?;
        let Some((number, signature, audit_number, audit_hash)) = signed else {
            return Ok(self.good.borrow().0 == 0 && unsigned(conn, keyring)?.is_none());
        };
        let end: (i64, Vec<u8>) = conn
            .prepare_cached("SELECT number, hash FROM audit_end")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (known, known_signature) = self.good.borrow().clone();
        if (number, &signature) == (known, &known_signature) && end == (audit_number, audit_hash) {
            return Ok(true);
        }
        let why = if number < known {
            Some(format!("checkpoint {known} is missing"))
        } else {
            unsigned(conn, keyring)?
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
) -> Result<Option<Signed>, Error> {
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
pub(super) fn forget_changes(conn: &Connection) -> Result<(), Error> {
    conn.prepare_cached("DELETE FROM temp.changed")?.execute([])?;
    Ok(())
}

/// What was wrong with a session before this transaction changed it.
fn altered(
    before: &Connection,
    keyring: &Keyring,
    id: &str,
    newest: Option<i64>,
) -> Result<Option<String>, Error> {
    if digest::key_and_status(before, id)?.is_none() {
        let last = match newest {
            Some(number) => seal_row(before, number)?,
            None => None,
        };
        if newest.is_none() || last.is_some_and(|last| last.session == id && last.status == REMOVED) {
            return Ok(None);
        }
    }
    Ok(match state_by(before, keyring, id, newest)? {
        SealState::Altered { what } => Some(what),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => None,
    })
}

/// A session that was changed outside Interlock is never signed as if it were whole: its seal says that it was changed.
fn seal_altered(conn: &Connection, keyring: &Keyring, id: &str, what: &str) -> Result<(), Error> {
    if of_session(conn, id)?.is_some_and(|last| last.status == ALTERED) {
        return Ok(());
    }
    let at: i64 = conn
        .prepare_cached(
            "SELECT max(coalesce((SELECT last_interaction_at FROM sessions WHERE id = ?), 0), \
             coalesce((SELECT max(at) FROM audit), 0))",
        )?
        .query_row([id], |row| row.get(0))?;
    note_altered(conn, id, what, at)?;
    add(conn, keyring, (id, ALTERED, at), what.as_bytes().to_vec())
}

/// The audit log says once of a session that it was changed outside Interlock.
pub(crate) fn note_altered(conn: &Connection, session: &str, what: &str, at: i64) -> Result<(), Error> {
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
pub(super) fn altered_sessions(conn: &Connection) -> Result<u64, Error> {
    number(
        conn.prepare_cached("SELECT count(*) FROM audit WHERE action = ?")?
            .query_row([ALTERED_DEED], |row| row.get(0))?,
    )
}

/// Signs what a session is now. `mark` comes before the status: [`OLDER`], or nothing.
fn seal(conn: &Connection, keyring: &Keyring, id: &str, mark: &str) -> Result<(), Error> {
    let found: Option<(i64, String, i64)> = conn
        .prepare_cached(
            "SELECT key, status, last_interaction_at FROM sessions WHERE id = ? AND deleted_at IS NOT 0",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let marked = |status: &str| format!("{mark}{status}");
    match found {
        // That it was taken up is signed, once. Its rows are signed again when the work is over.
        Some((_, status, at)) if is_worked_on(&status) => match of_session(conn, id)? {
            Some(last) if is_worked_on(unmarked(&last.status)) => Ok(()),
            _ => add(conn, keyring, (id, &marked(&status), at), Vec::new()),
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

/// The number and the signature of a checkpoint.
pub(super) type Signed = (i64, Vec<u8>);

/// Signs the end of the audit log and of the seals, if one of them moved or the key is a new one.
fn checkpoint(conn: &Connection, keyring: &Keyring) -> Result<Option<Signed>, Error> {
    let signer = keyring.signer().ok_or(Error::NoSigningKey)?;
    let (audit_number, audit_hash): (i64, Vec<u8>) = conn
        .prepare_cached("SELECT number, hash FROM audit_end")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let before: (i64, i64, i64, Vec<u8>) = conn
        .prepare_cached(
            "SELECT number, audit_number, seal_number, public_key FROM checkpoints ORDER BY number DESC LIMIT 1",
        )?
        .query_row([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?
        .unwrap_or_default();
    let (seal_number, seal_hash) = last(conn)?.unwrap_or_default();
    let key = signer.public();
    if (audit_number, seal_number) == (before.1, before.2) && before.3 == key.as_bytes() {
        return Ok(None);
    }
    let at: i64 = conn
        .prepare_cached(
            "SELECT max(coalesce((SELECT at FROM audit WHERE number = ?1), 0), \
             coalesce((SELECT at FROM seals WHERE number = ?2), 0))",
        )?
        .query_row([audit_number, seal_number], |row| row.get(0))?;
    let statement = statement(
        before.0 + 1,
        at,
        (audit_number, &audit_hash),
        (seal_number, &seal_hash),
    );
    let signature = signer.sign(Purpose::Checkpoint, &statement).as_bytes().to_vec();
    conn.prepare_cached(
        "INSERT INTO checkpoints (number, at, audit_number, audit_hash, seal_number, seal_hash, public_key, signature) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        before.0 + 1,
        at,
        audit_number,
        audit_hash,
        seal_number,
        seal_hash,
        key.as_bytes(),
        signature
    ])?;
    Ok(Some((before.0 + 1, signature)))
}

/// What a checkpoint signs.
fn statement(number: i64, at: i64, audit: (i64, &[u8]), seal: (i64, &[u8])) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    for field in [
        &number.to_be_bytes(),
        &at.to_be_bytes(),
        &audit.0.to_be_bytes(),
        audit.1,
        &seal.0.to_be_bytes(),
        seal.1,
    ] as [&[u8]; 6]
    {
        bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
        bytes.extend_from_slice(field);
    }
    bytes
}

impl Checkpoint {
    /// Whether a trusted key signed it.
    pub fn verifies(&self, keyring: &Keyring) -> bool {
        let whole = |number: u64| i64::try_from(number).ok();
        let at = i64::try_from(self.at.as_nanosecond()).ok();
        match (
            whole(self.number),
            at,
            whole(self.audit_number),
            whole(self.seal_number),
        ) {
            (Some(number), Some(at), Some(audit), Some(seal)) => {
                let statement = statement(
                    number,
                    at,
                    (audit, self.audit_hash.as_bytes()),
                    (seal, self.seal_hash.as_bytes()),
                );
                keyring.verifies(&self.public_key, Purpose::Checkpoint, &statement, &self.signature)
            }
            _ => false,
        }
    }
}

const CHECKPOINT: &str = "SELECT number, at, audit_number, audit_hash, seal_number, seal_hash, public_key, signature \
                          FROM checkpoints";

fn to_checkpoint(row: &Row<'_>) -> Result<Checkpoint, Error> {
    Ok(Checkpoint {
        number: number(row.get(0)?)?,
        at: time(row.get(1)?)?,
        audit_number: number(row.get(2)?)?,
        audit_hash: hash(&row.get::<_, Vec<u8>>(3)?)?,
        seal_number: number(row.get(4)?)?,
        seal_hash: hash(&row.get::<_, Vec<u8>>(5)?)?,
        public_key: PublicKey::from_bytes(&row.get::<_, Vec<u8>>(6)?).map_err(Error::corrupt)?,
        signature: Signature::from_bytes(&row.get::<_, Vec<u8>>(7)?).map_err(Error::corrupt)?,
    })
}

pub(crate) fn last_checkpoint(conn: &Connection) -> Result<Option<Checkpoint>, Error> {
    let found = super::read::rows(
        conn,
        &format!("{CHECKPOINT} ORDER BY number DESC LIMIT 1"),
        [],
        to_checkpoint,
    )?;
    Ok(found.into_iter().next())
}

/// The hash of an entry of the audit log; of nothing for number 0.
fn entry_hash(conn: &Connection, number: u64) -> Result<Option<Vec<u8>>, Error> {
    if number == 0 {
        return Ok(Some(ContentHash::of("").as_bytes().to_vec()));
    }
    Ok(conn
        .prepare_cached("SELECT hash FROM audit WHERE number = ?")?
        .query_row([i64::try_from(number).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?)
}

fn seal_hash(conn: &Connection, number: u64) -> Result<Option<Vec<u8>>, Error> {
    Ok(conn
        .prepare_cached("SELECT hash FROM seals WHERE number = ?")?
        .query_row([i64::try_from(number).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?)
}

/// Why the store does not hold what a checkpoint signs; nothing where it does. Whether the checkpoint itself counts is
/// another question.
pub(crate) fn misfit(conn: &Connection, checkpoint: &Checkpoint) -> Result<Option<String>, Error> {
    let one = |what: &str, number: u64, signed: &ContentHash, found: Option<Vec<u8>>| match found {
        Some(found) if found == signed.as_bytes() => None,
        Some(_) => Some(format!("{what} {number} is not the one that was signed")),
        None => Some(format!("{what} {number} is missing")),
    };
    let entry = one(
        "audit entry",
        checkpoint.audit_number,
        &checkpoint.audit_hash,
        entry_hash(conn, checkpoint.audit_number)?,
    );
    let seal = one(
        "seal",
        checkpoint.seal_number,
        &checkpoint.seal_hash,
        seal_hash(conn, checkpoint.seal_number)?,
    );
    Ok(match (entry, seal) {
        (Some(entry), Some(seal)) => Some(format!("{entry}, and {seal}")),
        (entry, seal) => entry.or(seal),
    })
}

/// What has this hash: an entry of the audit log, or a seal.
pub(crate) fn find_head(conn: &Connection, hash: &ContentHash) -> Result<Option<HeadFound>, Error> {
    let of = |table: &str| -> Result<Option<u64>, Error> {
        conn.prepare_cached(&format!("SELECT number FROM {table} WHERE hash = ?"))?
            .query_row([hash.as_bytes()], |row| row.get(0))
            .optional()?
            .map(number)
            .transpose()
    };
    Ok(match of("audit")? {
        Some(number) => Some(HeadFound::Entry(number)),
        None => of("seals")?.map(HeadFound::Seal),
    })
}

/// Whether a session's rows are what was signed.
pub(crate) fn seal_state(conn: &Connection, keyring: Option<&Keyring>, id: &str) -> Result<SealState, Error> {
    match keyring {
        Some(keyring) => state_by(conn, keyring, id, looked_up(conn, id)?),
        None => Ok(SealState::Unsigned),
    }
}

/// The same by the session's newest seal, which has this number.
fn state_by(conn: &Connection, keyring: &Keyring, id: &str, newest: Option<i64>) -> Result<SealState, Error> {
    let altered = |what: String| Ok(SealState::Altered { what });
    let Some((key, status)) = digest::key_and_status(conn, id)? else {
        return altered("the session is missing".to_owned());
    };
    let Some(newest) = newest else {
        return altered("its seal is missing".to_owned());
    };
    let Some(row) = seal_row(conn, newest)?.filter(|row| row.session == id) else {
        return altered(format!("seal {newest} is missing"));
    };
    if let Some(why) = row.fault(keyring) {
        return Ok(SealState::Altered {
            what: format!("seal {}: {why}", row.number),
        });
    }
    if row.status == ALTERED {
        let what = String::from_utf8_lossy(&row.parts);
        return Ok(SealState::Altered {
            what: format!("{what}; found before the session was changed again"),
        });
    }
    let signed = unmarked(&row.status);
    if is_worked_on(&status) {
        // Only the one who holds the key can say that somebody works on it: nobody else can reopen what is over.
        return if is_worked_on(signed) {
            Ok(SealState::InProgress)
        } else {
            altered(format!(
                "its status is `{status}`, and what was signed is `{signed}`"
            ))
        };
    }
    let now = digest::parts(conn, key)?;
    let differences = digest::differences(&row.parts, &now);
    if !differences.is_empty() {
        return altered(differences.join(", "));
    }
    if row.parts.is_empty() || signed != status {
        return altered(format!(
            "its status is `{status}`, and what was signed is `{signed}`"
        ));
    }
    Ok(if row.status.starts_with(OLDER) {
        SealState::Older
    } else {
        SealState::Intact(Box::new(row.to_seal()?))
    })
}

/// Nobody goes on with a session whose rows are not what was signed.
///
/// What this transaction changed itself was checked before that, and is sealed when it is committed.
pub(crate) fn check(conn: &Connection, keyring: Option<&Keyring>, session: &SessionId) -> Result<(), Error> {
    let Some(keyring) = keyring else {
        return Ok(());
    };
    if is_changed(conn, session)? {
        return Ok(());
    }
    match state_by(conn, keyring, session.as_str(), noted(conn, session.as_str())?)? {
        SealState::Altered { what } => Err(Error::Altered {
            session: session.clone(),
            what,
        }),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => Ok(()),
    }
}

fn is_changed(conn: &Connection, session: &SessionId) -> Result<bool, Error> {
    Ok(conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM changed WHERE id = ?)")?
        .query_row([session.as_str()], |row| row.get(0))?)
}

/// Checks everything that is signed.
pub(crate) fn verify_record(
    conn: &Connection,
    keyring: &Keyring,
    mark: Option<&Mark>,
    sessions: bool,
) -> Result<RecordVerified, Error> {
    // Read before anything else: the store may go on while it is checked, and then it is ahead of its mark.
    let marked = mark.map(|mark| {
        let marks = mark.led_elsewhere().and_then(|()| mark.read(keyring));
        (mark.file().to_owned(), marks)
    });
    let mut found = RecordVerified {
        audit: verify_audit(conn)?,
        checkpoints: 0,
        last_checkpoint: None,
        seals: 0,
        sessions_intact: 0,
        sessions_in_progress: 0,
        sessions_older: 0,
        mark: MarkState::None,
        problems: Vec::new(),
        problems_found: 0,
    };
    match marked {
        None => {}
        Some((_, Ok(marks))) => {
            for (file, checkpoint) in marks {
                if let Some(why) = misfit(conn, &checkpoint)? {
                    let what = format!(
                        "{why}: the store ends before the mark that this machine made ({:.0}), or is another one",
                        checkpoint.at
                    );
                    found.problem(format!("mark {}", file.display()), what);
                }
                if found.mark == MarkState::None {
                    found.mark = MarkState::Kept {
                        file,
                        checkpoint: Box::new(checkpoint),
                    };
                }
            }
        }
        Some((file, Err(error))) => {
            found.problem(format!("mark {}", file.display()), error.to_string());
        }
    }
    walk_indexes(conn, sessions, &mut found)?;
    let walked = walk_seals(conn, keyring, &mut found)?;
    walk_checkpoints(conn, keyring, &walked.hashes, &mut found)?;
    if sessions {
        walk_sessions(conn, keyring, &walked.newest, &mut found)?;
    }
    Ok(found)
}

impl RecordVerified {
    fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.problems_found += 1;
        if self.problems.len() < Self::MOST {
            self.problems.push(Problem {
                place: place.into(),
                what: what.into(),
            });
        }
    }
}

/// What walking all seals found.
#[derive(Default)]
struct Walked {
    /// The hash of each seal.
    hashes: Vec<Vec<u8>>,
    /// The number of the newest seal of each session, and whether that seal says that retention removed it.
    newest: HashMap<String, (i64, bool)>,
}

/// Every index says what its table says. Rows that an index leaves out would not be seen by whatever reads by it.
fn walk_indexes(conn: &Connection, sessions: bool, found: &mut RecordVerified) -> Result<(), Error> {
    let mut tables = BTreeSet::from(SIGNED_TABLES);
    if sessions {
        tables.extend(digest::tables());
    }
    for table in tables {
        match super::open::integrity(conn, &format!("PRAGMA integrity_check('{table}')")) {
            Ok(()) => {}
            Err(Error::Corrupt { what, .. }) => found.problem(format!("table {table}"), what),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Each seal follows the one before it and is signed.
fn walk_seals(conn: &Connection, keyring: &Keyring, found: &mut RecordVerified) -> Result<Walked, Error> {
    let mut walked = Walked::default();
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM main.seals NOT INDEXED ORDER BY number"
    ))?;
    let mut rows = statement.query([])?;
    let mut previous = ContentHash::of("").as_bytes().to_vec();
    while let Some(row) = rows.next()? {
        let row = Kept::read(row)?;
        found.seals += 1;
        let place = format!("seal {}", row.number);
        if u64::try_from(row.number).ok() != Some(found.seals) {
            found.problem(&place, format!("seal {} is missing", found.seals));
            found.seals = u64::try_from(row.number).unwrap_or(found.seals);
        } else if row.previous != previous {
            found.problem(&place, "it does not follow the seal before it");
        } else if let Some(why) = row.fault(keyring) {
            found.problem(&place, why);
        }
        previous.clone_from(&row.hash);
        walked.hashes.push(row.hash);
        walked
            .newest
            .insert(row.session, (row.number, row.status == REMOVED));
    }
    Ok(walked)
}

fn walk_checkpoints(
    conn: &Connection,
    keyring: &Keyring,
    seals: &[Vec<u8>],
    found: &mut RecordVerified,
) -> Result<(), Error> {
    let all = super::read::rows(conn, &format!("{CHECKPOINT} ORDER BY number"), [], to_checkpoint)?;
    for checkpoint in all {
        found.checkpoints += 1;
        let place = format!("checkpoint {}", checkpoint.number);
        let entry = entry_hash(conn, checkpoint.audit_number)?;
        let seal = usize::try_from(checkpoint.seal_number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .and_then(|index| seals.get(index));
        let why = if checkpoint.number != found.checkpoints {
            Some(format!("checkpoint {} is missing", found.checkpoints))
        } else if !keyring.trusts(&checkpoint.public_key) {
            Some(format!(
                "it is signed by the key {}, which is not trusted",
                checkpoint.public_key
            ))
        } else if !checkpoint.verifies(keyring) {
            Some("its signature does not fit".to_owned())
        } else if entry.as_deref() != Some(checkpoint.audit_hash.as_bytes()) {
            Some(format!(
                "entry {} of the audit log is not the one that was signed",
                checkpoint.audit_number
            ))
        } else if seal.map(Vec::as_slice) != Some(checkpoint.seal_hash.as_bytes()) {
            Some(format!(
                "seal {} is not the one that was signed",
                checkpoint.seal_number
            ))
        } else {
            None
        };
        found.checkpoints = checkpoint.number.max(found.checkpoints);
        if let Some(why) = why {
            found.problem(place, why);
        }
        found.last_checkpoint = Some(checkpoint);
    }
    let signed_to = found.last_checkpoint.as_ref().map_or(0, |last| last.audit_number);
    if signed_to != found.audit.entries {
        let what = format!(
            "the log has {} entries, and the last checkpoint signs {signed_to}",
            found.audit.entries
        );
        found.problem("audit", what);
    }
    let sealed_to = found.last_checkpoint.as_ref().map_or(0, |last| last.seal_number);
    if sealed_to != found.seals {
        let what = format!(
            "there are {} seals, and the last checkpoint signs {sealed_to}",
            found.seals
        );
        found.problem("seals", what);
    }
    Ok(())
}

/// Every session is what was signed, and every signed session is there.
fn walk_sessions(
    conn: &Connection,
    keyring: &Keyring,
    newest: &HashMap<String, (i64, bool)>,
    found: &mut RecordVerified,
) -> Result<(), Error> {
    let mut ids: BTreeSet<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE deleted_at IS NOT 0")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    ids.extend(
        newest
            .iter()
            .filter(|(id, (_, removed))| !removed && *id != GENESIS)
            .map(|(id, _)| id.clone()),
    );
    for id in ids {
        match state_by(conn, keyring, &id, newest.get(&id).map(|(number, _)| *number))? {
            SealState::Intact(_) => found.sessions_intact += 1,
            SealState::InProgress => found.sessions_in_progress += 1,
            SealState::Older => found.sessions_older += 1,
            SealState::Unsigned => {}
            SealState::Altered { what } => found.problem(id, what),
        }
    }
    Ok(())
}

/// The id of a session by its row number.
pub(super) fn id_of(conn: &Connection, key: i64) -> Result<SessionId, Error> {
    let id: String = conn
        .prepare_cached("SELECT id FROM sessions WHERE key = ?")?
        .query_row([key], |row| row.get(0))?;
    text(&id)
}

#[cfg(test)]
mod tests {
    use interlock_seal::Signer;

    use super::*;

    /// An earlier version wrote the number of the newest older session into the first seal, and no seal for each of them.
    #[test]
    fn a_store_that_an_earlier_version_adopted_is_adopted_again() {
        let keyring = Keyring::signing(Signer::generate().unwrap());
        let conn = super::super::open::memory().unwrap();
        conn.execute_batch(NOTE_CHANGES).unwrap();
        conn.execute_batch(
            "INSERT INTO sessions (key, id, kind, channel, chain, level, priority, created_at, status, last_interaction_at)
             VALUES (1, 'ses_1', 'chat', 'cli', 'default', 'controlled', 0, 1, 'completed', 1)",
        )
        .unwrap();
        let parts = 1_i64.to_be_bytes().to_vec();
        add(&conn, &keyring, (GENESIS, GENESIS, 1), parts).unwrap();
        let state = || seal_state(&conn, Some(&keyring), "ses_1").unwrap();
        assert!(matches!(state(), SealState::Altered { .. }), "{:?}", state());
        let begin = |found| begin_signing(&conn, &keyring, None, found);
        assert_eq!(begin(Found::Checked), Err(Error::Unsealed { sessions: 1 }));
        assert_eq!(begin(Found::Adopted), Ok(false));
        assert_eq!(state(), SealState::Older);
        assert_eq!(begin(Found::Checked), Ok(false));
    }
}
