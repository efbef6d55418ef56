-- Times are nanoseconds since 1970. What is only ever read whole is JSON.
-- Rows are appended to tables in the order in which they come and found through small indexes that begin with the
-- session's number: sessions that are worked on at the same time write to the same few pages.

CREATE TABLE sessions (
    key                 INTEGER PRIMARY KEY,
    id                  TEXT    NOT NULL UNIQUE,
    kind                TEXT    NOT NULL,
    channel             TEXT    NOT NULL,
    owner               TEXT,
    alert_type          TEXT,
    chain               TEXT    NOT NULL,
    level               TEXT    NOT NULL,
    priority            INTEGER NOT NULL,
    idempotency_key     TEXT,
    created_at          INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    worker              TEXT,
    epoch               INTEGER NOT NULL DEFAULT 0,
    cancel_requested    INTEGER NOT NULL DEFAULT 0,
    cancel_by           TEXT,
    started_at          INTEGER,
    completed_at        INTEGER,
    last_interaction_at INTEGER NOT NULL,
    deleted_at          INTEGER,
    -- A person decided a hold while a worker had the session: it must not go to sleep over that.
    decided             INTEGER NOT NULL DEFAULT 0,
    last_event          INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX sessions_idempotency ON sessions (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_open ON sessions (status, priority DESC, key) WHERE completed_at IS NULL;
CREATE INDEX sessions_ended ON sessions (completed_at) WHERE completed_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- Apart from `sessions`, whose rows change with every batch: a long input need not be written again each time.
CREATE TABLE session_texts (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    title   TEXT NOT NULL,
    input   TEXT NOT NULL,
    options TEXT NOT NULL,
    answer  TEXT,
    error   TEXT
) STRICT;

CREATE TABLE events (
    key       INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    stage     TEXT,
    execution TEXT,
    body      TEXT    NOT NULL,
    UNIQUE (session, number)
) STRICT;

CREATE TABLE runs (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    id      TEXT    NOT NULL UNIQUE,
    body    TEXT    NOT NULL
) STRICT;
CREATE INDEX runs_session ON runs (session);

CREATE TABLE stages (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    place   INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    UNIQUE (session, id)
) STRICT;

CREATE TABLE executions (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    id      TEXT    NOT NULL UNIQUE,
    body    TEXT    NOT NULL
) STRICT;
CREATE INDEX executions_session ON executions (session);

CREATE TABLE messages (
    key       INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    execution TEXT    NOT NULL,
    number    INTEGER NOT NULL,
    run       TEXT    NOT NULL,
    role      TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    content   TEXT    NOT NULL,
    UNIQUE (session, execution, number)
) STRICT;

CREATE TABLE timeline (
    key        INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL REFERENCES sessions (key),
    execution  TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    content    TEXT    NOT NULL,
    metadata   TEXT    NOT NULL,
    UNIQUE (session, execution, number)
) STRICT;

-- `body` is what follows the first `shared` bytes of the body before it.
CREATE TABLE interactions (
    key       INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    execution TEXT    NOT NULL,
    number    INTEGER NOT NULL,
    run       TEXT    NOT NULL,
    provider  TEXT    NOT NULL,
    model     TEXT    NOT NULL,
    shared    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    body_hash BLOB    NOT NULL,
    facts     TEXT    NOT NULL,
    body      BLOB    NOT NULL,
    raw       BLOB    NOT NULL,
    UNIQUE (session, execution, number)
) STRICT;

CREATE TABLE calls (
    key       INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    permit    TEXT    NOT NULL,
    run       TEXT    NOT NULL,
    hold      TEXT,
    -- Nothing ran after all. The row stays: neither its permit nor its hold starts anything again.
    abandoned INTEGER NOT NULL DEFAULT 0,
    body      TEXT    NOT NULL,
    UNIQUE (session, permit)
) STRICT;
-- One call for each hold at most.
CREATE UNIQUE INDEX calls_hold ON calls (hold) WHERE hold IS NOT NULL;

-- One receipt for each call at most: the key is the call's.
CREATE TABLE receipts (
    call         INTEGER PRIMARY KEY REFERENCES calls (key),
    body         TEXT NOT NULL,
    pending      TEXT,
    verification TEXT
) STRICT;

-- One writer for each resource at most.
CREATE TABLE writers (
    resource  TEXT    PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    execution TEXT    NOT NULL,
    permit    TEXT    NOT NULL,
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    id      TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    UNIQUE (session, id)
) STRICT;

CREATE TABLE holds (
    key        INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL REFERENCES sessions (key),
    id         TEXT    NOT NULL UNIQUE,
    plan_hash  BLOB    NOT NULL,
    status     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT;
CREATE INDEX holds_session ON holds (session);
CREATE INDEX holds_pending ON holds (expires_at) WHERE status = 'pending';

CREATE TABLE tokens (
    hash       BLOB    PRIMARY KEY,
    session    INTEGER NOT NULL,
    hold       TEXT    NOT NULL REFERENCES holds (id),
    plan_hash  BLOB    NOT NULL,
    approver   TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_hold ON tokens (hold);

CREATE TABLE steps (
    key     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    number  INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    input   TEXT    NOT NULL,
    outcome TEXT    NOT NULL,
    UNIQUE (session, number)
) STRICT;

CREATE TABLE workers (
    id           TEXT    PRIMARY KEY,
    heartbeat_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
