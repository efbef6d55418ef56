-- Who may sign in, with what, and what they did. A secret is kept as its hash and in no other form.

CREATE TABLE users (
    id         TEXT    PRIMARY KEY,
    role       TEXT    NOT NULL,
    password   TEXT,
    issuer     TEXT,
    subject    TEXT,
    enabled    INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER,
    CHECK ((issuer IS NULL) = (subject IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_identity ON users (issuer, subject) WHERE issuer IS NOT NULL;

CREATE TABLE logins (
    hash       BLOB    PRIMARY KEY,
    user       TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    csrf       TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_user ON logins (user);
CREATE INDEX logins_expire ON logins (expires_at);

CREATE TABLE links (
    hash       BLOB    PRIMARY KEY,
    user       TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_user ON links (user);
CREATE INDEX links_expire ON links (expires_at);

CREATE TABLE api_tokens (
    id         TEXT    PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    user       TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scopes     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at    INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_tokens_user ON api_tokens (user);

CREATE TABLE saved_views (
    id         TEXT    PRIMARY KEY,
    user       TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       TEXT    NOT NULL,
    query      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (user, name)
) STRICT, WITHOUT ROWID;

-- What people did. Names stay when the people go. Rows are added and never change.
CREATE TABLE audit (
    number   INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    actor    TEXT,
    action   TEXT    NOT NULL,
    subject  TEXT,
    details  TEXT    NOT NULL,
    previous BLOB    NOT NULL,
    hash     BLOB    NOT NULL
) STRICT;
CREATE INDEX audit_actor ON audit (actor) WHERE actor IS NOT NULL;
CREATE INDEX audit_subject ON audit (subject) WHERE subject IS NOT NULL;
CREATE INDEX audit_action ON audit (action);

-- Where the log ends: without it, nobody would miss the last entries.
CREATE TABLE audit_end (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL,
    hash   BLOB    NOT NULL
) STRICT;
-- The SHA-256 of nothing comes before the first.
INSERT INTO audit_end VALUES (1, 0, x'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');

CREATE TRIGGER audit_goes_on BEFORE INSERT ON audit
WHEN (new.number, new.previous) IS NOT (SELECT number + 1, hash FROM audit_end) BEGIN
    SELECT RAISE (ABORT, 'an entry of the audit log comes after the last one');
END;
CREATE TRIGGER audit_went_on AFTER INSERT ON audit BEGIN
    UPDATE audit_end SET number = new.number, hash = new.hash;
END;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
    SELECT RAISE (ABORT, 'the audit log does not change');
END;
CREATE TRIGGER audit_remains BEFORE DELETE ON audit BEGIN
    SELECT RAISE (ABORT, 'nothing is removed from the audit log');
END;
CREATE TRIGGER audit_end_follows BEFORE UPDATE ON audit_end
WHEN new.number <> old.number + 1
    OR (new.number, new.hash) IS NOT (SELECT number, hash FROM audit WHERE number = new.number) BEGIN
    SELECT RAISE (ABORT, 'the end of the audit log is its last entry');
END;
CREATE TRIGGER audit_end_remains BEFORE DELETE ON audit_end BEGIN
    SELECT RAISE (ABORT, 'the audit log has an end');
END;
