-- Campaigns in rounds, seconds of a trial, the 99.99th percentile, and results of other programs.

-- SQLite cannot change a CHECK: the table is made anew with all its rows. Keys stay, so what refers to them does.
CREATE TABLE runs_anew (
    run_key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT,
    purpose TEXT NOT NULL CHECK (purpose IN ('compare', 'calibrate', 'campaign')),
    started_at_us INTEGER NOT NULL,
    ended_at_us INTEGER,
    outcome TEXT CHECK (outcome IN ('done', 'interrupted', 'failed')),
    host_key INTEGER NOT NULL REFERENCES hosts (host_key),
    load_1m TEXT,
    workload_name TEXT NOT NULL,
    workload_sha256 TEXT NOT NULL,
    seed INTEGER NOT NULL,
    tool_version TEXT NOT NULL,
    plan_json TEXT NOT NULL,
    launches_max INTEGER,
    sampler_core_percent REAL,
    block_edge_us REAL,
    client_cpu_ns_per_op REAL,
    controller_peak_bytes INTEGER,
    worker_heap_peak_bytes INTEGER,
    step_pauses INTEGER,
    step_pause_ns_mean INTEGER,
    step_pause_ns_max INTEGER
) STRICT;
INSERT INTO runs_anew (run_key, id, name, purpose, started_at_us, ended_at_us, outcome, host_key, load_1m,
    workload_name, workload_sha256, seed, tool_version, plan_json, launches_max, sampler_core_percent,
    block_edge_us, client_cpu_ns_per_op, controller_peak_bytes, worker_heap_peak_bytes)
SELECT run_key, id, name, purpose, started_at_us, ended_at_us, outcome, host_key, load_1m,
    workload_name, workload_sha256, seed, tool_version, plan_json, launches_max, sampler_core_percent,
    block_edge_us, client_cpu_ns_per_op, controller_peak_bytes, worker_heap_peak_bytes
FROM runs;
DROP TABLE runs;
ALTER TABLE runs_anew RENAME TO runs;
CREATE INDEX runs_by_start ON runs (started_at_us);
CREATE INDEX runs_by_name ON runs (name);

CREATE TABLE shapes_anew (
    shape_key INTEGER PRIMARY KEY,
    trial_key INTEGER NOT NULL REFERENCES trials (trial_key),
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after', 'settled')),
    memtable_bytes INTEGER NOT NULL,
    pending_compaction_bytes INTEGER NOT NULL,
    levels_json TEXT NOT NULL
) STRICT;
INSERT INTO shapes_anew (shape_key, trial_key, moment, memtable_bytes, pending_compaction_bytes, levels_json)
SELECT shape_key, trial_key, moment, memtable_bytes, pending_compaction_bytes, levels_json FROM shapes;
DROP TABLE shapes;
ALTER TABLE shapes_anew RENAME TO shapes;
CREATE INDEX shapes_by_trial ON shapes (trial_key);

ALTER TABLE trials ADD COLUMN latency_ns_p9999 INTEGER;

-- The seconds of a trial that was measured in one go.
CREATE TABLE seconds (
    trial_key INTEGER NOT NULL REFERENCES trials (trial_key),
    second INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    latency_ns_p50 INTEGER NOT NULL,
    latency_ns_p99 INTEGER NOT NULL,
    latency_ns_max INTEGER NOT NULL,
    PRIMARY KEY (trial_key, second)
) STRICT, WITHOUT ROWID;

-- Results that other programs wrote: one invocation of `dbdyno import`.
CREATE TABLE imports (
    import_key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT,
    format TEXT NOT NULL,
    imported_at_us INTEGER NOT NULL,
    tool_version TEXT NOT NULL
) STRICT;
CREATE INDEX imports_by_time ON imports (imported_at_us);

-- Its files, verbatim: they can be parsed again.
CREATE TABLE import_files (
    import_file_key INTEGER PRIMARY KEY,
    import_key INTEGER NOT NULL REFERENCES imports (import_key),
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX import_files_by_import ON import_files (import_key);

-- What stands in them. A value that is no number has none, and `said` is what stands in its place.
CREATE TABLE imported_values (
    imported_value_key INTEGER PRIMARY KEY,
    import_key INTEGER NOT NULL REFERENCES imports (import_key),
    import_file_key INTEGER NOT NULL REFERENCES import_files (import_file_key),
    subject TEXT NOT NULL,
    step TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL,
    said TEXT NOT NULL,
    place TEXT NOT NULL
) STRICT;
CREATE INDEX imported_values_by_import ON imported_values (import_key, step, subject);
