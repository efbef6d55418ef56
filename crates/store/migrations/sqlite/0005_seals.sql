-- Signatures over what is kept. The key that makes them is outside of this file.

-- One row whenever a session that nobody is working on has changed: the digest of all its rows, signed. Each row
-- carries the hash of the one before it. Number 1 says which sessions are older than signing.
CREATE TABLE seals (
    number     INTEGER PRIMARY KEY,
    session    TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    -- The digest of each table's rows, 32 bytes each.
    parts      BLOB    NOT NULL,
    previous   BLOB    NOT NULL,
    public_key BLOB    NOT NULL,
    signature  BLOB    NOT NULL,
    hash       BLOB    NOT NULL
) STRICT;
CREATE INDEX seals_session ON seals (session, number);

-- Where the audit log and the seals ended, signed: one row for each transaction that added to the audit log.
CREATE TABLE checkpoints (
    number       INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    audit_number INTEGER NOT NULL,
    audit_hash   BLOB    NOT NULL,
    seal_number  INTEGER NOT NULL,
    seal_hash    BLOB    NOT NULL,
    public_key   BLOB    NOT NULL,
    signature    BLOB    NOT NULL
) STRICT;

CREATE TRIGGER seals_stay BEFORE UPDATE ON seals BEGIN
    SELECT RAISE (ABORT, 'a seal does not change');
END;
CREATE TRIGGER seals_remain BEFORE DELETE ON seals BEGIN
    SELECT RAISE (ABORT, 'no seal is removed');
END;
CREATE TRIGGER checkpoints_stay BEFORE UPDATE ON checkpoints BEGIN
    SELECT RAISE (ABORT, 'a checkpoint does not change');
END;
CREATE TRIGGER checkpoints_remain BEFORE DELETE ON checkpoints BEGIN
    SELECT RAISE (ABORT, 'no checkpoint is removed');
END;
