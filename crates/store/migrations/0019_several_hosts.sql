-- Where a run that was measured into another store came from: a row for each store that it has passed on its way here.
CREATE TABLE origins (
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    merged_at_us INTEGER NOT NULL,
    -- The file, as it was given to `dbdyno store merge`.
    store TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    PRIMARY KEY (run_key, merged_at_us, store)
) STRICT, WITHOUT ROWID;

-- A campaign that is measured on several hosts is a job on each of them: where it is, and how far it is.
CREATE TABLE jobs (
    campaign TEXT NOT NULL,
    -- From 1.
    job INTEGER NOT NULL,
    -- As ssh calls it.
    host TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'interrupted', 'unreachable')),
    -- Why it is not done; NULL if there is no more to say.
    message TEXT,
    seed INTEGER NOT NULL,
    plan_toml TEXT NOT NULL,
    changed_at_us INTEGER NOT NULL,
    PRIMARY KEY (campaign, job)
) STRICT, WITHOUT ROWID;
