-- What was learned. Notes outlive the sessions that wrote them.
CREATE TABLE notes (
    key        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    about      TEXT,
    text       TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    written_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_about ON notes (about) WHERE about IS NOT NULL;

-- The words of the notes; the text itself stays in `notes`.
CREATE VIRTUAL TABLE note_words USING fts5 (
    about, text, content = 'notes', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER notes_written AFTER INSERT ON notes BEGIN
    INSERT INTO note_words (rowid, about, text) VALUES (new.key, new.about, new.text);
END;
CREATE TRIGGER notes_forgotten AFTER DELETE ON notes BEGIN
    INSERT INTO note_words (note_words, rowid, about, text) VALUES ('delete', old.key, old.about, old.text);
END;
