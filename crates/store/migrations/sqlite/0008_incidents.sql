-- What alerts are about, from the first notice until they are resolved. Times are nanoseconds since 1970.
CREATE TABLE incidents (
    key             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    -- Nothing where the sender gave none: then no other alert is the same.
    fingerprint     TEXT,
    idempotency_key TEXT,
    status          TEXT    NOT NULL,
    -- Whether the alert fires, whatever people said about the incident.
    firing          INTEGER NOT NULL,
    -- 0 is critical, 1 a warning, 2 information.
    severity        INTEGER NOT NULL,
    title           TEXT    NOT NULL,
    summary         TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    owner           TEXT,
    alert_type      TEXT,
    -- Alerts of one rule are given to one session.
    rule            TEXT,
    -- The name in the alert by which its resource is looked for, and the resource once it was found.
    about           TEXT,
    resource        TEXT,
    priority        INTEGER NOT NULL,
    starts_at       INTEGER,
    opened_at       INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    resolved_at     INTEGER,
    repeats         INTEGER NOT NULL DEFAULT 0,
    -- 1 until a session was started for it.
    waiting         INTEGER NOT NULL,
    last_event      INTEGER NOT NULL DEFAULT 0,
    -- The alert as it came last, masked.
    alert           TEXT    NOT NULL
) STRICT;
CREATE INDEX incidents_fingerprint ON incidents (fingerprint, key) WHERE fingerprint IS NOT NULL;
CREATE UNIQUE INDEX incidents_idempotency ON incidents (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX incidents_open ON incidents (severity, key) WHERE status <> 'resolved';
CREATE INDEX incidents_waiting ON incidents (priority DESC, severity, key) WHERE waiting = 1;
CREATE INDEX incidents_resolved ON incidents (resolved_at) WHERE status = 'resolved';

CREATE TABLE incident_events (
    key      INTEGER PRIMARY KEY,
    incident TEXT    NOT NULL REFERENCES incidents (id),
    number   INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    -- The first and the last time that it happened, and how often: what repeats is one event.
    at       INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    by       TEXT,
    session  TEXT,
    text     TEXT    NOT NULL,
    UNIQUE (incident, number)
) STRICT;

CREATE TABLE incident_sessions (
    key      INTEGER PRIMARY KEY,
    incident TEXT    NOT NULL REFERENCES incidents (id),
    session  TEXT    NOT NULL,
    UNIQUE (session, incident)
) STRICT;
CREATE INDEX incident_sessions_incident ON incident_sessions (incident, key);

-- Alerts that were not taken, so that nobody has to look for them in a log.
CREATE TABLE rejected_alerts (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    source TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    -- Its beginning, masked.
    alert  TEXT    NOT NULL
) STRICT;
