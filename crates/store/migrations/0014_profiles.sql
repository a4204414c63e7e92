-- Stacks of the sides of a run, sampled in launches of their own, which carry no verdict: they have no row among launches and trials.
CREATE TABLE profiles (
    profile_key INTEGER PRIMARY KEY,
    run_key     INTEGER NOT NULL REFERENCES runs (run_key) ON DELETE CASCADE,
    launch      INTEGER NOT NULL,
    step        TEXT NOT NULL,
    side        INTEGER NOT NULL,
    operations  INTEGER NOT NULL,
    cpu_ns      INTEGER NOT NULL,
    -- Of the blocks between them that were not sampled.
    unsampled_operations INTEGER NOT NULL,
    unsampled_cpu_ns INTEGER NOT NULL,
    -- Of the foreground threads: wall time times threads, looks at them, and how often they were seen waiting for what.
    wall_ns     INTEGER NOT NULL,
    looks       INTEGER NOT NULL,
    waits_json  TEXT NOT NULL,
    -- Samples a second, broken stacks, lost samples, ..
    quality_json TEXT NOT NULL,
    -- Functions and kinds of threads, each once.
    names_json  TEXT NOT NULL,
    -- The kind of the thread, the functions from the outermost on, by their places in names_json, and how often that was seen.
    stacks_json TEXT NOT NULL,
    UNIQUE (run_key, launch, step, side)
);
