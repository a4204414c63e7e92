-- Results of runs. Integers are in base units (ns, bytes, us since the epoch); 64-bit values without a sign
-- are kept as two's complement. docs/store.md describes every table.

-- What a host is, without what changes from run to run.
CREATE TABLE hosts (
    host_key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL,
    cpus INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    host_json TEXT NOT NULL UNIQUE
) STRICT;

-- One binary under one name.
CREATE TABLE builds (
    build_key INTEGER PRIMARY KEY,
    reference TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    build_json TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX builds_by_sha256 ON builds (sha256);

CREATE TABLE runs (
    run_key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT,
    purpose TEXT NOT NULL CHECK (purpose IN ('compare', 'calibrate')),
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
    worker_heap_peak_bytes INTEGER
) STRICT;
CREATE INDEX runs_by_start ON runs (started_at_us);
CREATE INDEX runs_by_name ON runs (name);

CREATE TABLE subjects (
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    side INTEGER NOT NULL,
    reference TEXT NOT NULL,
    build_key INTEGER NOT NULL REFERENCES builds (build_key),
    config_name TEXT NOT NULL,
    options_json TEXT NOT NULL,
    planted_slowdown_percent REAL NOT NULL,
    PRIMARY KEY (run_key, side)
) STRICT, WITHOUT ROWID;

CREATE TABLE launches (
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    launch INTEGER NOT NULL,
    started_at_us INTEGER NOT NULL,
    took_ns INTEGER,
    launches_max INTEGER,
    active_steps_json TEXT,
    PRIMARY KEY (run_key, launch)
) STRICT, WITHOUT ROWID;

CREATE TABLE images (
    image_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    launch INTEGER NOT NULL,
    image INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    took_ns INTEGER NOT NULL,
    memtable_bytes INTEGER NOT NULL,
    pending_compaction_bytes INTEGER NOT NULL,
    levels_json TEXT NOT NULL
) STRICT;
CREATE INDEX images_by_run ON images (run_key);

-- A row without an outcome is a trial that was not finished.
CREATE TABLE trials (
    trial_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    launch INTEGER NOT NULL,
    step TEXT NOT NULL,
    side INTEGER NOT NULL,
    outcome TEXT CHECK (outcome IN ('done', 'failed', 'skipped')),
    reason TEXT,
    latency_operations INTEGER,
    latency_ns_p50 INTEGER,
    latency_ns_p99 INTEGER,
    latency_ns_p999 INTEGER,
    latency_ns_max INTEGER,
    latency_histogram TEXT,
    UNIQUE (run_key, launch, step, side)
) STRICT;

CREATE TABLE blocks (
    block_key INTEGER PRIMARY KEY,
    trial_key INTEGER NOT NULL REFERENCES trials (trial_key),
    image INTEGER NOT NULL,
    cycle INTEGER NOT NULL,
    position INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    failed_operations INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    run_delay_ns INTEGER NOT NULL,
    foreground_cpu_ns INTEGER NOT NULL,
    foreground_threads INTEGER NOT NULL,
    process_cpu_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX blocks_by_trial ON blocks (trial_key);

-- Names of counters, each once: twenty counters per block would otherwise be mostly names.
CREATE TABLE counters (
    counter_key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE block_counters (
    block_key INTEGER NOT NULL REFERENCES blocks (block_key),
    counter_key INTEGER NOT NULL REFERENCES counters (counter_key),
    value INTEGER NOT NULL,
    PRIMARY KEY (block_key, counter_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE shapes (
    shape_key INTEGER PRIMARY KEY,
    trial_key INTEGER NOT NULL REFERENCES trials (trial_key),
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after')),
    memtable_bytes INTEGER NOT NULL,
    pending_compaction_bytes INTEGER NOT NULL,
    levels_json TEXT NOT NULL
) STRICT;
CREATE INDEX shapes_by_trial ON shapes (trial_key);

CREATE TABLE step_exits (
    step_exit_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    step TEXT NOT NULL,
    launch INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX step_exits_by_run ON step_exits (run_key);

CREATE TABLE host_samples (
    host_sample_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    at_us INTEGER NOT NULL,
    readings_json TEXT NOT NULL
) STRICT;
CREATE INDEX host_samples_by_run ON host_samples (run_key, at_us);

CREATE TABLE raw_outputs (
    raw_output_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    launch INTEGER NOT NULL,
    side INTEGER NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX raw_outputs_by_run ON raw_outputs (run_key, launch, side, name);

CREATE TABLE warnings (
    warning_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    step TEXT,
    id TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX warnings_by_run ON warnings (run_key);
