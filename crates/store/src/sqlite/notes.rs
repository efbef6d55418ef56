//! Notes, and the search over their words.

use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::read::{rows, time};
use crate::Note;

/// How many notes are kept.
const MOST_NOTES: i64 = 10_000;
/// How many words of a question are looked for.
const MOST_WORDS: usize = 32;

pub(crate) fn remember(conn: &Connection, note: &Note, at: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO notes (id, about, text, session, written_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
    )?
    .execute(params![note.id, note.about, note.text, note.session, at])?;
    conn.prepare_cached(
        "DELETE FROM notes WHERE key <= (SELECT key FROM notes ORDER BY key DESC LIMIT 1 OFFSET ?)",
    )?
    .execute([MOST_NOTES])?;
    Ok(())
}

pub(crate) fn recall(
    conn: &Connection,
    query: &str,
    about: Option<&str>,
    most: u32,
) -> Result<Vec<Note>, Fault> {
    match expression(query) {
        None => rows(
            conn,
            "SELECT id, about, text, session, written_at FROM notes WHERE ?1 IS NULL OR about = ?1 \
             ORDER BY written_at DESC, key DESC LIMIT ?2",
            params![about, most],
            note,
        ),
        Some(words) => rows(
            conn,
            "SELECT n.id, n.about, n.text, n.session, n.written_at FROM note_words \
             JOIN notes n ON n.key = note_words.rowid WHERE note_words MATCH ?1 AND (?2 IS NULL OR n.about = ?2) \
             ORDER BY bm25(note_words), n.key DESC LIMIT ?3",
            params![words, about, most],
            note,
        ),
    }
}

/// The words of a question in the grammar of the search: each a quoted beginning of a word, any of them will do.
/// Nothing that is written in a question is grammar.
fn expression(query: &str) -> Option<String> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .map(|word| format!("\"{word}\"*"))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

fn note(row: &Row<'_>) -> Result<Note, Fault> {
    Ok(Note {
        id: row.get(0)?,
        about: row.get(1)?,
        text: row.get(2)?,
        session: row.get(3)?,
        written_at: time(row.get(4)?)?,
    })
}
