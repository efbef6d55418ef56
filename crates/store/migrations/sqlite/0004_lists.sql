-- What lists over a hundred thousand sessions are read from. Nothing here is touched by a batch that only adds records
-- to a session that somebody works on.

-- Events again, with their kind before the body, and with keys that never come twice: a feed goes by them.
CREATE TABLE placed_events (
    key       INTEGER PRIMARY KEY AUTOINCREMENT,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    stage     TEXT,
    execution TEXT,
    body      TEXT    NOT NULL,
    UNIQUE (session, number)
) STRICT;
INSERT INTO placed_events (key, session, number, at, kind, stage, execution, body)
    SELECT key, session, number, at, json_extract(body, '$.type'), stage, execution, body FROM events ORDER BY key;
DROP TABLE events;
ALTER TABLE placed_events RENAME TO events;
-- Those that a list of sessions follows.
CREATE INDEX events_of_lists ON events (key, kind) WHERE kind IN (
    'session.created', 'session.status', 'session.completed',
    'hold.opened', 'hold.approved', 'hold.denied', 'hold.edited', 'hold.expired'
);

-- The answers of the gate, next to their events.
CREATE TABLE decisions (
    event  INTEGER PRIMARY KEY REFERENCES events (key),
    answer TEXT NOT NULL,
    code   TEXT,
    tool   TEXT
) STRICT;
WITH proposals AS MATERIALIZED (
    SELECT session, json_extract(body, '$.data.proposal.id') AS call,
        json_extract(body, '$.data.proposal.tool') AS tool
    FROM events WHERE kind = 'proposal.received'
)
INSERT OR IGNORE INTO decisions (event, answer, code, tool)
    SELECT e.key, json_extract(e.body, '$.data.decision.answer'), json_extract(e.body, '$.data.decision.code'), p.tool
    FROM events e LEFT JOIN proposals p
        ON p.session = e.session AND p.call = json_extract(e.body, '$.data.call')
    WHERE e.kind = 'decision.made';
CREATE INDEX decisions_answer ON decisions (answer);
CREATE INDEX decisions_code ON decisions (code) WHERE code IS NOT NULL;

ALTER TABLE calls ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN resource TEXT;
ALTER TABLE receipts ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
-- How long it took, in nanoseconds, where that is known.
ALTER TABLE receipts ADD COLUMN took INTEGER;
-- `julianday` knows milliseconds, which is enough for what ran before these columns were there.
UPDATE calls SET
    at = CAST((julianday(json_extract(body, '$.started_at')) - 2440587.5) * 86400000 AS INTEGER) * 1000000,
    tool = json_extract(body, '$.plan.tool'),
    writes = json_extract(body, '$.plan.kind') = 'write',
    resource = json_extract(body, '$.plan.target.id');
UPDATE receipts SET
    outcome = json_extract(body, '$.outcome'),
    took = CAST((julianday(json_extract(body, '$.finished_at')) - julianday(json_extract(body, '$.started_at')))
        * 86400000 AS INTEGER) * 1000000;
CREATE INDEX calls_resource ON calls (resource) WHERE resource IS NOT NULL;
CREATE INDEX calls_at ON calls (at, tool, writes, abandoned);

-- What each call to a model used, apart from its long row.
CREATE TABLE usage (
    interaction   INTEGER PRIMARY KEY REFERENCES interactions (key),
    session       INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    failed        INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    micro_dollars INTEGER,
    took          INTEGER
) STRICT;
INSERT INTO usage (interaction, session, at, name, failed, input_tokens, output_tokens, micro_dollars, took)
    SELECT key, session, at, coalesce(json_extract(facts, '$.name'), model),
        json_extract(facts, '$.error') IS NOT NULL,
        coalesce(json_extract(facts, '$.usage.input_tokens'), 0),
        coalesce(json_extract(facts, '$.usage.output_tokens'), 0),
        json_extract(facts, '$.cost.micro_dollars'),
        json_extract(facts, '$.timing.total.secs') * 1000000000 + json_extract(facts, '$.timing.total.nanos')
    FROM interactions;
CREATE INDEX usage_at ON usage (at);
CREATE INDEX usage_of_models ON usage (name, failed, at);

-- While a session with the same fingerprint is open, a repeated alert joins it.
ALTER TABLE sessions ADD COLUMN fingerprint TEXT;
-- The beginning of the title, for sorting.
ALTER TABLE sessions ADD COLUMN title_key TEXT NOT NULL DEFAULT '';
-- How many writes began, how many of them were confirmed, and how many proposals were refused.
ALTER TABLE sessions ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN writes_verified INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN took INTEGER GENERATED ALWAYS AS (completed_at - started_at) VIRTUAL;
UPDATE sessions SET
    title_key = coalesce((SELECT lower(substr(title, 1, 64)) FROM session_texts WHERE session = sessions.key), ''),
    writes = (SELECT count(*) FROM calls WHERE session = sessions.key AND writes AND NOT abandoned),
    writes_verified = (SELECT count(*) FROM calls c JOIN receipts r ON r.call = c.key
        WHERE c.session = sessions.key AND r.verification = 'verified'),
    refusals = (SELECT count(*) FROM events e JOIN decisions d ON d.event = e.key
        WHERE e.session = sessions.key AND d.answer = 'refused');
CREATE INDEX sessions_fingerprint ON sessions (fingerprint) WHERE fingerprint IS NOT NULL AND completed_at IS NULL;

-- One index for each order, with everything that a filter asks for. What somebody works on changes all the time and is
-- never much: it has an index of its own, and no place in the others.
CREATE INDEX sessions_in_hand ON sessions (worker) WHERE worker IS NOT NULL;
CREATE INDEX sessions_by_created ON sessions
    (created_at, key, status, kind, alert_type, chain, owner, worker, deleted_at)
    WHERE worker IS NULL AND deleted_at IS NULL;
CREATE INDEX sessions_by_touched ON sessions
    (last_interaction_at, key, status, kind, alert_type, chain, owner, created_at, worker, deleted_at)
    WHERE worker IS NULL AND deleted_at IS NULL;
CREATE INDEX sessions_by_status ON sessions
    (status, key, kind, alert_type, chain, owner, created_at, worker, deleted_at)
    WHERE worker IS NULL AND deleted_at IS NULL;
CREATE INDEX sessions_by_title ON sessions
    (title_key, key, status, kind, alert_type, chain, owner, created_at, worker, deleted_at)
    WHERE worker IS NULL AND deleted_at IS NULL;
CREATE INDEX sessions_by_took ON sessions
    (took, key, status, kind, alert_type, chain, owner, created_at, worker, deleted_at)
    WHERE worker IS NULL AND deleted_at IS NULL;
-- What a filter can choose from: each value is found by a step from the one before it.
CREATE INDEX sessions_alert_types ON sessions (alert_type) WHERE alert_type IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_chains ON sessions (chain) WHERE deleted_at IS NULL;
CREATE INDEX sessions_owners ON sessions (owner) WHERE owner IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX holds_open ON holds (session) WHERE status = 'pending';

-- Every three letters of what people see of a session. Of a long text its beginning.
CREATE VIRTUAL TABLE session_words USING fts5 (
    title, input, answer, content = '', contentless_delete = 1, tokenize = 'trigram'
);
INSERT INTO session_words (rowid, title, input, answer)
    SELECT session, title, substr(input, 1, 2000), substr(answer, 1, 2000) FROM session_texts;
CREATE TRIGGER session_texts_written AFTER INSERT ON session_texts BEGIN
    INSERT INTO session_words (rowid, title, input, answer)
        VALUES (new.session, new.title, substr(new.input, 1, 2000), substr(new.answer, 1, 2000));
END;
CREATE TRIGGER session_texts_changed AFTER UPDATE OF title, input, answer ON session_texts
WHEN (new.title, new.input, new.answer) IS NOT (old.title, old.input, old.answer) BEGIN
    UPDATE session_words SET title = new.title, input = substr(new.input, 1, 2000),
        answer = substr(new.answer, 1, 2000) WHERE rowid = new.session;
END;
CREATE TRIGGER session_texts_forgotten AFTER DELETE ON session_texts BEGIN
    DELETE FROM session_words WHERE rowid = old.session;
END;
