//! Catalogues of tools, by their hash.

use interlock_protocol::ContentHash;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;

pub(crate) fn keep_catalogue(conn: &Connection, hash: &ContentHash, body: &str) -> Result<(), Fault> {
    conn.prepare_cached("INSERT INTO catalogues (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING")?
        .execute(params![hash.to_string(), body])?;
    Ok(())
}

pub(crate) fn catalogue(conn: &Connection, hash: &ContentHash) -> Result<Option<String>, Fault> {
    Ok(conn
        .prepare_cached("SELECT body FROM catalogues WHERE hash = ?")?
        .query_row([hash.to_string()], |row| row.get(0))
        .optional()?)
}
