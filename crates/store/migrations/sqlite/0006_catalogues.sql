-- The catalogues of tools that sessions ran on, each under the hash of what it says. Steps name them; nothing changes them.
CREATE TABLE catalogues (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
