//! Checks what was signed: one session before anybody goes on with it, and the whole record.

use std::collections::{BTreeSet, HashMap};

use interlock_protocol::{ContentHash, SessionId, Status};
use interlock_seal::Keyring;
use rusqlite::Connection;

use super::checkpoint::{CHECKPOINT, entry_hash, misfit, to_checkpoint};
use super::links::walk_links;
use super::{
    ALTERED, COLUMNS, GENESIS, Kept, NewestSeals, OLDER, Outside, REMOVED, SIGNED_TABLES, Signers,
    is_worked_on, noted, seal_row, unmarked,
};
use crate::Error;
use crate::mark::Mark;
use crate::seal::{MarkState, Problem, RecordVerified, SealState, SessionsVerified};
use crate::sqlite::audit::verify_audit;
use crate::sqlite::digest;
use crate::sqlite::fault::{Fault, text};
use crate::sqlite::{frozen, open, schema};

/// Whether a session's rows are what was signed. Its newest seal has this number.
pub(crate) fn seal_state(
    conn: &Connection,
    keyring: Option<&Keyring>,
    outside: Outside<'_>,
    id: &str,
    newest: Option<i64>,
) -> Result<SealState, Fault> {
    match keyring {
        Some(keyring) => state_by(conn, &Signers::new(keyring, outside), id, newest),
        None => Ok(SealState::Unsigned),
    }
}

/// The same by the session's newest seal, which has this number.
pub(super) fn state_by(
    conn: &Connection,
    signers: &Signers<'_>,
    id: &str,
    newest: Option<i64>,
) -> Result<SealState, Fault> {
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
    if let Some(why) = signers.fault(conn, &row)? {
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
    // Whoever changed the row chose the word.
    let shown = if status.parse::<Status>().is_ok() {
        status.as_str()
    } else {
        "unknown"
    };
    if is_worked_on(&status) {
        // Only the one who holds the key can say that somebody works on it: nobody else can reopen what is over.
        if !is_worked_on(signed) {
            return altered(format!(
                "its status is `{shown}`, and what was signed is `{signed}`"
            ));
        }
        let changed = frozen::changed(conn, key, &row.parts)?;
        return if changed.is_empty() {
            Ok(SealState::InProgress)
        } else {
            altered(format!("{}, from before the work began", changed.join(", ")))
        };
    }
    let now = digest::parts(conn, key)?;
    let differences = digest::differences(&row.parts, &now);
    if !differences.is_empty() {
        return altered(differences.join(", "));
    }
    if row.parts.is_empty() || signed != status {
        return altered(format!(
            "its status is `{shown}`, and what was signed is `{signed}`"
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
pub(crate) fn check(conn: &Connection, keyring: Option<&Keyring>, session: &SessionId) -> Result<(), Fault> {
    let Some(keyring) = keyring else {
        return Ok(());
    };
    if is_changed(conn, session)? {
        return Ok(());
    }
    let signers = Signers::new(keyring, Outside::SignsHere);
    match state_by(conn, &signers, session.as_str(), noted(conn, session.as_str())?)? {
        SealState::Altered { what } => Err(Error::Altered {
            session: session.clone(),
            what,
        }
        .into()),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => Ok(()),
    }
}

pub(super) fn is_changed(conn: &Connection, session: &SessionId) -> Result<bool, Fault> {
    Ok(conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM changed WHERE id = ?)")?
        .query_row([session.as_str()], |row| row.get(0))?)
}

/// Checks the schema and everything that is signed.
pub(crate) fn verify_record(
    conn: &Connection,
    keyring: &Keyring,
    mark: Option<&Mark>,
    sessions: bool,
) -> Result<RecordVerified, Fault> {
    let mut found =
        verify_rows(conn, keyring, mark, sessions).map_err(|fault| schema::explain(conn, fault))?;
    for change in schema::changes(conn)? {
        found.problem(format!("{} {}", change.kind, change.name), change.what());
    }
    Ok(found)
}

fn verify_rows(
    conn: &Connection,
    keyring: &Keyring,
    mark: Option<&Mark>,
    sessions: bool,
) -> Result<RecordVerified, Fault> {
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
                        file: file.display().to_string(),
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
    let signers = Signers::new(keyring, Outside::Mark(mark));
    for (place, what) in signers.order(conn)?.faults() {
        found.problem(place, what);
    }
    if sessions {
        walk_links(conn, &mut found)?;
        walk_catalogues(conn, &mut found)?;
        walk_sessions(conn, &signers, &walked.newest, &mut found)?;
    }
    Ok(found)
}

impl RecordVerified {
    pub(super) fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
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

/// Every index says what its table says: each row of a table is in each of its indexes, also in a partial one, and nothing
/// else is. Rows that an index leaves out would not be seen by whatever reads by it. After this, reading by an index is as good
/// as reading the table.
fn walk_indexes(conn: &Connection, sessions: bool, found: &mut RecordVerified) -> Result<(), Fault> {
    let mut tables = BTreeSet::from(SIGNED_TABLES.map(str::to_owned));
    let mut said = Vec::new();
    if sessions {
        tables.extend(schema::tables(conn)?);
        // Pages that belong to nothing or to two things.
        said = open::faults(conn, &format!("PRAGMA quick_check({})", RecordVerified::MOST))?;
        for what in &said {
            found.problem("database", what);
        }
    }
    for table in tables {
        for what in schema::index_faults(conn, &table)? {
            if !said.contains(&what) {
                found.problem(format!("table {table}"), what);
            }
        }
    }
    Ok(())
}

/// Each seal follows the one before it and is signed.
fn walk_seals(conn: &Connection, keyring: &Keyring, found: &mut RecordVerified) -> Result<Walked, Fault> {
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
) -> Result<(), Fault> {
    let all = crate::sqlite::read::rows(conn, &format!("{CHECKPOINT} ORDER BY number"), [], to_checkpoint)?;
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
    signers: &Signers<'_>,
    newest: &HashMap<String, (i64, bool)>,
    found: &mut RecordVerified,
) -> Result<(), Fault> {
    let mut ids: BTreeSet<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE deleted_at IS NOT 0")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    // What retention is removing has a seal that says so.
    let leaving: Vec<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE deleted_at IS 0")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in leaving {
        if !newest.get(&id).is_some_and(|(_, removed)| *removed) {
            found.problem(id, "it is hidden, and no seal says that it was removed");
        }
    }
    ids.extend(
        newest
            .iter()
            .filter(|(id, (_, removed))| !removed && *id != GENESIS)
            .map(|(id, _)| id.clone()),
    );
    for id in ids {
        match state_by(conn, signers, &id, newest.get(&id).map(|(number, _)| *number))? {
            SealState::Intact(_) => found.sessions_intact += 1,
            SealState::InProgress => found.sessions_in_progress += 1,
            SealState::Older => found.sessions_older += 1,
            SealState::Unsigned => {}
            SealState::Altered { what } => found.problem(id, what),
        }
    }
    Ok(())
}

/// Checks the rows of some sessions: those whose ids come after this one, in the order of their ids.
pub(crate) fn verify_sessions(
    conn: &Connection,
    keyring: &Keyring,
    outside: Outside<'_>,
    (after, limit): (Option<&str>, usize),
) -> Result<SessionsVerified, Fault> {
    let mut ids: BTreeSet<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE deleted_at IS NOT 0")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let newest = NewestSeals::all(conn)?.by_session;
    let sealed = newest.iter();
    ids.extend(
        sealed
            .filter(|(id, (_, removed))| !removed && *id != GENESIS)
            .map(|(id, _)| id.clone()),
    );
    let signers = Signers::new(keyring, outside);
    let mut found = SessionsVerified::default();
    let mut rest = ids
        .into_iter()
        .filter(|id| after.is_none_or(|after| id.as_str() > after))
        .peekable();
    while let Some(id) = rest.next() {
        match state_by(conn, &signers, &id, newest.get(&id).map(|(number, _)| *number))? {
            SealState::Intact(_) => found.intact += 1,
            SealState::InProgress => found.in_progress += 1,
            SealState::Older => found.older += 1,
            SealState::Unsigned => {}
            SealState::Altered { what } => found.altered.push(Problem {
                place: id.clone(),
                what,
            }),
        }
        found.checked += 1;
        if found.checked >= limit as u64 {
            found.next = rest.peek().is_some().then_some(id);
            break;
        }
    }
    Ok(found)
}

/// Every catalogue of tools says what its hash says, and those that runs were decided with are there.
fn walk_catalogues(conn: &Connection, found: &mut RecordVerified) -> Result<(), Fault> {
    let mut kept = BTreeSet::new();
    let mut statement = conn.prepare("SELECT hash, body FROM main.catalogues")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (hash, body): (String, String) = (row.get(0)?, row.get(1)?);
        let says = serde_json::from_str(&body).map(|body| ContentHash::of_json(&body).to_string());
        if says.is_ok_and(|says| says == hash) {
            kept.insert(hash);
        } else {
            found.problem(
                format!("catalogue {hash}"),
                "its content was changed: it does not have this hash",
            );
            kept.insert(hash);
        }
    }
    let named: Vec<(String, i64)> = conn
        .prepare(
            "SELECT coalesce(CASE WHEN json_valid(input) THEN input ->> '$.rules.catalogue' END, ''), count(DISTINCT run) \
             FROM main.steps NOT INDEXED WHERE CASE WHEN json_valid(input) THEN input ->> '$.ask' END = 'open' GROUP BY 1",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (hash, runs) in named {
        if !kept.contains(&hash) {
            let what = format!(
                "it is missing, and {runs} {} decided with it: the catalogue was removed, or an earlier version did not keep it",
                if runs == 1 { "run was" } else { "runs were" }
            );
            found.problem(format!("catalogue {hash}"), what);
        }
    }
    Ok(())
}

/// The id of a session by its row number.
pub(in crate::sqlite) fn id_of(conn: &Connection, key: i64) -> Result<SessionId, Fault> {
    let id: String = conn
        .prepare_cached("SELECT id FROM sessions WHERE key = ?")?
        .query_row([key], |row| row.get(0))?;
    text(&id)
}
