//! Checkpoints: where the audit log and the seals ended, signed.

use interlock_protocol::ContentHash;
use interlock_seal::{Keyring, PublicKey, Purpose, Signature};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::last;
use crate::Error;
use crate::seal::{Checkpoint, HeadFound};
use crate::sqlite::fault::Fault;
use crate::sqlite::read::{hash, number, time};

/// The number and the signature of a checkpoint.
pub(in crate::sqlite) type Signed = (i64, Vec<u8>);

/// Signs the end of the audit log and of the seals, if one of them moved or the key is a new one.
pub(super) fn checkpoint(conn: &Connection, keyring: &Keyring) -> Result<Option<Signed>, Fault> {
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
pub(super) fn statement(number: i64, at: i64, audit: (i64, &[u8]), seal: (i64, &[u8])) -> Vec<u8> {
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

pub(super) const CHECKPOINT: &str = "SELECT number, at, audit_number, audit_hash, seal_number, seal_hash, public_key, signature \
                          FROM main.checkpoints NOT INDEXED";

pub(super) fn to_checkpoint(row: &Row<'_>) -> Result<Checkpoint, Fault> {
    Ok(Checkpoint {
        number: number(row.get(0)?)?,
        at: time(row.get(1)?)?,
        audit_number: number(row.get(2)?)?,
        audit_hash: hash(&row.get::<_, Vec<u8>>(3)?)?,
        seal_number: number(row.get(4)?)?,
        seal_hash: hash(&row.get::<_, Vec<u8>>(5)?)?,
        public_key: PublicKey::from_bytes(&row.get::<_, Vec<u8>>(6)?).map_err(Fault::corrupt)?,
        signature: Signature::from_bytes(&row.get::<_, Vec<u8>>(7)?).map_err(Fault::corrupt)?,
    })
}

pub(crate) fn last_checkpoint(conn: &Connection) -> Result<Option<Checkpoint>, Fault> {
    let found = crate::sqlite::read::rows(
        conn,
        &format!("{CHECKPOINT} ORDER BY number DESC LIMIT 1"),
        [],
        to_checkpoint,
    )?;
    Ok(found.into_iter().next())
}

/// The hash of an entry of the audit log; of nothing for number 0.
pub(super) fn entry_hash(conn: &Connection, number: u64) -> Result<Option<Vec<u8>>, Fault> {
    if number == 0 {
        return Ok(Some(ContentHash::of("").as_bytes().to_vec()));
    }
    Ok(conn
        .prepare_cached("SELECT hash FROM main.audit NOT INDEXED WHERE number = ?")?
        .query_row([i64::try_from(number).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?)
}

pub(super) fn seal_hash(conn: &Connection, number: u64) -> Result<Option<Vec<u8>>, Fault> {
    Ok(conn
        .prepare_cached("SELECT hash FROM main.seals NOT INDEXED WHERE number = ?")?
        .query_row([i64::try_from(number).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?)
}

/// Why the store does not hold what a checkpoint signs; nothing where it does. Whether the checkpoint itself counts is
/// another question.
pub(crate) fn misfit(conn: &Connection, checkpoint: &Checkpoint) -> Result<Option<String>, Fault> {
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
pub(crate) fn find_head(conn: &Connection, hash: &ContentHash) -> Result<Option<HeadFound>, Fault> {
    let of = |table: &str| -> Result<Option<u64>, Fault> {
        conn.prepare_cached(&format!(
            "SELECT number FROM main.{table} NOT INDEXED WHERE hash = ?"
        ))?
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
