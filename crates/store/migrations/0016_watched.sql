-- What `watch` has found: a change keeps its row from night to night.
CREATE TABLE watched (
    watched_key  INTEGER PRIMARY KEY,
    watch        TEXT NOT NULL,
    host_name    TEXT NOT NULL,
    workload     TEXT NOT NULL,
    step         TEXT NOT NULL,
    -- As the plan writes them: `postgres@git:master` moves on.
    base         TEXT NOT NULL,
    candidate    TEXT NOT NULL,
    is_slower    INTEGER NOT NULL,
    -- Candidate over base when it was told last.
    ratio        REAL NOT NULL,
    low          REAL NOT NULL,
    high         REAL NOT NULL,
    -- The last build without it, and the first with it.
    last_without TEXT,
    first_with   TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('new', 'known', 'accepted', 'gone')),
    first_run    TEXT NOT NULL,
    last_run     TEXT NOT NULL
) STRICT;
CREATE INDEX watched_by_watch ON watched (watch, state);
