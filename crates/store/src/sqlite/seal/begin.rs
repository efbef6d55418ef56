//! The beginning of the record: the first seal of a store, taking over a store, and whether it is the one that was left.

use interlock_protocol::ContentHash;
use interlock_seal::Keyring;
use rusqlite::Connection;

use super::checkpoint::{checkpoint, last_checkpoint, misfit};
use super::stopped::{self, StoppedWithoutKey};
use super::{
    GENESIS, KEY_REPLACED, Kept, NEWEST_OLDER, NOTE_CHANGES, OLDER, Order, Outside, Signers, add, last,
    note_seals, seal, seal_row,
};
use crate::mark::Mark;
use crate::sqlite::audit::{added_after, audit};
use crate::sqlite::fault::Fault;
use crate::sqlite::read::{hash, number, time};
use crate::sqlite::schema;
use crate::{Deed, Error};

/// Makes a connection that writes ready to sign. A store is refused that holds sessions and no seal, that ends before its
/// mark or has lost it, or whose audit log was added to without the key: somebody cut it off or wrote to it.
pub(in crate::sqlite) fn begin(
    conn: &Connection,
    keyring: Option<&Keyring>,
    mark: Option<&Mark>,
) -> Result<(), Fault> {
    begin_with(conn, keyring, mark, Found::Checked)
}

/// The same for a store that somebody says is as it should be: it is signed as it is.
pub(in crate::sqlite) fn adopt(
    conn: &Connection,
    keyring: Option<&Keyring>,
    mark: Option<&Mark>,
) -> Result<(), Fault> {
    begin_with(conn, keyring, mark, Found::Adopted)
}

/// What becomes of a store that is not as it was left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Checked,
    Adopted,
}

fn begin_with(
    conn: &Connection,
    keyring: Option<&Keyring>,
    mark: Option<&Mark>,
    found: Found,
) -> Result<(), Fault> {
    let Some(keyring) = keyring else {
        return match last(conn)? {
            Some(_) => Err(Error::NoSigningKey.into()),
            None => Ok(()),
        };
    };
    if keyring.signer().is_none() {
        return Err(Error::NoSigningKey.into());
    }
    conn.execute_batch(NOTE_CHANGES)?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let first_signed = match begin_signing(conn, keyring, mark, found) {
        Ok(first_signed) => {
            conn.execute_batch("COMMIT")?;
            first_signed
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
    // A signed store without a mark is refused, so it has one from the beginning; and that a key was replaced is in the mark at
    // once. What it says is on the disk before.
    if first_signed || found == Found::Adopted {
        conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        if let Some(checkpoint) = last_checkpoint(conn)? {
            mark.follow(&checkpoint);
        }
    }
    Ok(())
}

/// Says whether the key signs in this store for the first time.
pub(super) fn begin_signing(
    conn: &Connection,
    keyring: &Keyring,
    mark: Option<&Mark>,
    found: Found,
) -> Result<bool, Fault> {
    // Again, while nobody else can write: what an added trigger writes would be signed with the rest.
    schema::check(conn)?;
    note_seals(conn)?;
    let signed = last(conn)?.is_some();
    let first = seal_row(conn, 1)?;
    match &first {
        Some(first) => match first.fault(keyring) {
            Some(why) => {
                return Err(Error::Seals {
                    why: format!("seal 1: {why}"),
                }
                .into());
            }
            None => newest_fits(conn, keyring)?,
        },
        None if signed => {
            return Err(Error::Seals {
                why: "the first seal is missing".to_owned(),
            }
            .into());
        }
        None => {}
    }
    if let Some(why) = Order::of(conn, keyring)?.swapped() {
        return Err(Error::KeyOrder { why }.into());
    }
    let signers = Signers::new(keyring, Outside::Mark(mark));
    if found == Found::Checked {
        // The mark first: it says more than that there is no seal.
        if let Some(mark) = mark {
            if let Some(own) = first.as_ref().and_then(own_beginning) {
                mark.begun_with(&own);
            }
            check_mark(conn, keyring, mark)?;
        }
        if let Some(last) = last_checkpoint(conn)?
            && let Some(why) = signers.order(conn)?.end_fault(&last)
        {
            return Err(Error::KeyOrder { why }.into());
        }
        let sessions = sessions(conn)?;
        match unsigned(conn, keyring)? {
            Tail::Wrong(_) if !signed => return Err(Error::Unsealed { sessions }.into()),
            _ if !signed && sessions > 0 => return Err(Error::Unsealed { sessions }.into()),
            Tail::Wrong(why) => return Err(Error::Unsigned { why }.into()),
            Tail::Stopped(by) => by.note(conn)?,
            Tail::Signed => {}
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
                }
                .into());
            }
        }
    }
    if let Some(mark) = mark
        && let Some(own) = seal_row(conn, 1)?.as_ref().and_then(own_beginning)
    {
        mark.begun_with(&own);
    }
    let replaced = note_replaced(conn, keyring)?;
    checkpoint(conn, keyring)?;
    Ok(!signed || replaced)
}

/// The audit log says that another key signs from here on. Says whether that is so.
fn note_replaced(conn: &Connection, keyring: &Keyring) -> Result<bool, Fault> {
    let signer = keyring.signer().ok_or(Error::NoSigningKey)?.public();
    let Some(before) = last_checkpoint(conn)?.map(|last| last.public_key) else {
        return Ok(false);
    };
    if before == signer {
        return Ok(false);
    }
    let newest: i64 = conn.query_row("SELECT coalesce(max(at), 0) FROM audit", [], |row| row.get(0))?;
    let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(newest);
    let at = now.max(newest);
    let deed = Deed {
        at: time(at)?,
        actor: None,
        action: KEY_REPLACED.to_owned(),
        subject: Some(signer.to_string()),
        details: serde_json::json!({ "earlier": before, "key": signer }),
    };
    audit(conn, &deed, at, &deed.details.to_string())?;
    Ok(true)
}

/// The hash of the first seal, where no other store has the same.
pub(super) fn own_beginning(first: &Kept) -> Option<ContentHash> {
    (first.parts.len() > NEWEST_OLDER)
        .then(|| hash(&first.hash).ok())
        .flatten()
}

/// The store reaches as far as each of its marks, and has one if it holds anything.
pub(super) fn check_mark(conn: &Connection, keyring: &Keyring, mark: &Mark) -> Result<(), Fault> {
    let marks = mark.read(keyring)?;
    for (file, marked) in &marks {
        if let Some(why) = misfit(conn, marked)? {
            return Err(Error::Behind {
                mark: file.display().to_string(),
                at: marked.at,
                why,
            }
            .into());
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
            mark: mark.file().display().to_string(),
            why: "it is missing, and the store is signed: the store was moved here or exchanged for another one, or its mark was \
                  removed"
                .to_owned(),
        }.into());
    }
    Ok(())
}

/// Whether the first seal says that some sessions have no seal of their own.
pub(super) fn says_older(first: &Kept) -> bool {
    first
        .parts
        .first_chunk::<NEWEST_OLDER>()
        .is_some_and(|newest| i64::from_be_bytes(*newest) != 0)
}

/// The sessions that no seal says anything about.
fn without_seal(conn: &Connection) -> Result<Vec<String>, Fault> {
    Ok(conn
        .prepare(
            "SELECT id FROM main.sessions NOT INDEXED \
             WHERE deleted_at IS NOT 0 AND id NOT IN (SELECT session FROM temp.newest_seals) ORDER BY key",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

/// Signs what each session without a seal is now, and that it is older than signing.
fn seal_older(conn: &Connection, keyring: &Keyring) -> Result<(), Fault> {
    for id in without_seal(conn)? {
        seal(conn, keyring, &id, OLDER)?;
    }
    Ok(())
}

pub(super) fn sessions(conn: &Connection) -> Result<u64, Fault> {
    number(conn.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?)
}

/// The newest seal and checkpoint are by keys that are trusted: a wrong key is noticed when the store is opened.
pub(super) fn newest_fits(conn: &Connection, keyring: &Keyring) -> Result<(), Fault> {
    let newest = last(conn)?.map_or(0, |(number, _)| number);
    if let Some(row) = seal_row(conn, newest)?
        && let Some(why) = row.fault(keyring)
    {
        let why = format!("seal {}: {why}", row.number);
        return Err(Error::Seals { why }.into());
    }
    match last_checkpoint(conn)? {
        Some(last) if !keyring.trusts(&last.public_key) => Err(Error::Seals {
            why: format!(
                "checkpoint {}: it is signed by the key {}, which is not trusted",
                last.number, last.public_key
            ),
        }
        .into()),
        _ => Ok(()),
    }
}

/// What was done to the store without the signing key since the last checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Signed,
    /// Writes were stopped, by the entry of this number.
    Stopped(StoppedWithoutKey),
    /// The end of the audit log must not be signed, and why.
    Wrong(String),
}

/// Asked when no transaction of this process has added to the audit log.
pub(super) fn unsigned(conn: &Connection, keyring: &Keyring) -> Result<Tail, Fault> {
    let signed = last_checkpoint(conn)?;
    if let Some(checkpoint) = &signed
        && !checkpoint.verifies(keyring)
    {
        return Ok(Tail::Wrong(format!(
            "checkpoint {} is not signed by a key that is trusted",
            checkpoint.number
        )));
    }
    let (entry, hash) = signed.as_ref().map_or_else(
        || (0, ContentHash::of("")),
        |checkpoint| (checkpoint.audit_number, checkpoint.audit_hash),
    );
    if let Some(why) = signed
        .as_ref()
        .map(|signed| misfit(conn, signed))
        .transpose()?
        .flatten()
    {
        return Ok(Tail::Wrong(why));
    }
    let sealed = signed.as_ref().map_or(0, |signed| signed.seal_number);
    if let Some((newest, _)) = last(conn)?
        && signed.is_some()
        && u64::try_from(newest).ok() != Some(sealed)
    {
        return Ok(Tail::Wrong(format!(
            "there are seals up to {newest}, and the last checkpoint signs {sealed}"
        )));
    }
    Ok(match added_after(conn, entry, &hash)? {
        Err(why) => Tail::Wrong(why),
        Ok(added) if added.is_empty() => Tail::Signed,
        Ok(added) => match stopped::judge(conn, signed.as_ref(), &added)? {
            Ok(stopped) => Tail::Stopped(stopped),
            Err(why) => Tail::Wrong(why),
        },
    })
}

#[cfg(test)]
mod tests {
    use interlock_seal::Signer;

    use super::*;
    use crate::seal::SealState;
    use crate::sqlite::seal::{NewestSeals, seal_state};

    /// The seal that an earlier version made when work began says nothing about rows. The session goes on, and is sealed at its end.
    #[test]
    fn work_that_an_earlier_version_began_is_sealed_at_its_end() {
        let keyring = Keyring::signing(Signer::generate().unwrap());
        let conn = crate::sqlite::open::memory().unwrap();
        conn.execute_batch(NOTE_CHANGES).unwrap();
        begin_signing(&conn, &keyring, None, Found::Checked).unwrap();
        conn.execute_batch(
            "INSERT INTO sessions (key, id, kind, channel, chain, level, priority, created_at, status, last_interaction_at)
             VALUES (1, 'ses_1', 'chat', 'cli', 'default', 'controlled', 0, 1, 'in_progress', 1)",
        )
        .unwrap();
        let state = || {
            let newest = NewestSeals::all(&conn).unwrap().of(&conn, "ses_1").unwrap();
            seal_state(&conn, Some(&keyring), Outside::SignsHere, "ses_1", newest).unwrap()
        };
        let began = |parts| add(&conn, &keyring, ("ses_1", "in_progress", 1), parts).unwrap();
        let owned_by = |owner: &str| {
            conn.execute("UPDATE sessions SET owner = ?", [owner]).unwrap();
        };
        began(Vec::new());
        owned_by("eve");
        assert_eq!(state(), SealState::InProgress);
        // From the next beginning on, the rows are compared.
        began(crate::sqlite::frozen::began(&conn, 1).unwrap());
        assert_eq!(state(), SealState::InProgress);
        owned_by("ada");
        let altered = state();
        assert!(
            matches!(&altered, SealState::Altered { what } if what == "session, from before the work began"),
            "{altered:?}"
        );
        owned_by("eve");
        conn.execute("UPDATE sessions SET status = 'completed'", [])
            .unwrap();
        seal(&conn, &keyring, "ses_1", "").unwrap();
        assert!(state().is_intact(), "{:?}", state());
    }

    /// An earlier version wrote the number of the newest older session into the first seal, and no seal for each of them.
    #[test]
    fn a_store_that_an_earlier_version_adopted_is_adopted_again() {
        let keyring = Keyring::signing(Signer::generate().unwrap());
        let conn = crate::sqlite::open::memory().unwrap();
        conn.execute_batch(NOTE_CHANGES).unwrap();
        conn.execute_batch(
            "INSERT INTO sessions (key, id, kind, channel, chain, level, priority, created_at, status, last_interaction_at)
             VALUES (1, 'ses_1', 'chat', 'cli', 'default', 'controlled', 0, 1, 'completed', 1)",
        )
        .unwrap();
        let parts = 1_i64.to_be_bytes().to_vec();
        add(&conn, &keyring, (GENESIS, GENESIS, 1), parts).unwrap();
        let state = || {
            let newest = NewestSeals::all(&conn).unwrap().of(&conn, "ses_1").unwrap();
            seal_state(&conn, Some(&keyring), Outside::Mark(None), "ses_1", newest).unwrap()
        };
        assert!(matches!(state(), SealState::Altered { .. }), "{:?}", state());
        let begin = |found| begin_signing(&conn, &keyring, None, found);
        assert_eq!(begin(Found::Checked), Err(Error::Unsealed { sessions: 1 }.into()));
        assert_eq!(begin(Found::Adopted), Ok(false));
        assert_eq!(state(), SealState::Older);
        assert_eq!(begin(Found::Checked), Ok(false));
    }
}
