-- Format 1. All that is stored about a session is in its row of `sessions`, in `turns` and in `items`.
-- Ids compare as their UTF-8 bytes. BLOBs are the codec's stored bytes: an envelope with a checksum, then JSON.

-- The counter that revisions come from. It outlives what it counted, so no revision ever comes twice.
CREATE TABLE counter (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    value INTEGER NOT NULL
);
INSERT INTO counter (only, value) VALUES (1, 0);

-- `number` is a value of the counter, so the rows of a deleted session can never become another's.
-- The columns between `id` and `head` repeat what the head says, for the listings; a row that disagrees is damaged.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    agent_id TEXT,
    project_root TEXT,
    head BLOB NOT NULL
);
CREATE UNIQUE INDEX sessions_by_id ON sessions (scope, id);
CREATE INDEX sessions_by_recency ON sessions (scope, updated_at DESC, id, status, agent_id, project_root);

CREATE TABLE turns (
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    stored BLOB NOT NULL,
    PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX turns_by_id ON turns (session, id);

-- Small keyed values in groups called kinds. `owner` is a session's number, or the scope's name (a text) for values
-- of the scope itself. `place` keeps the order in which the keys of a kind were first put.
CREATE TABLE items (
    owner NOT NULL,
    kind TEXT NOT NULL,
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    stored BLOB NOT NULL,
    PRIMARY KEY (owner, kind, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX items_by_key ON items (owner, kind, key);
