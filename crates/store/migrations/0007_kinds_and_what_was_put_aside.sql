-- No number means two things any more: what kind a block is, and which visits were cut off and measured again, stand
-- in columns of their own. And new: what was found in a run, and bisections.

-- What a block is. Until now a cycle of 0 was also a step in one go and 1 its drain, where nothing was interleaved.
-- SQLite cannot take NOT NULL from a column: the table is made anew. Keys stay, so what refers to them does; below too.
CREATE TABLE blocks_anew (
    block_key INTEGER PRIMARY KEY,
    trial_key INTEGER NOT NULL REFERENCES trials (trial_key),
    image INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('cycle', 'whole', 'drain')),
    cycle INTEGER CHECK ((cycle IS NOT NULL) = (kind = 'cycle')),
    position INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    failed_operations INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    run_delay_ns INTEGER NOT NULL,
    foreground_cpu_ns INTEGER NOT NULL,
    foreground_threads INTEGER NOT NULL,
    process_cpu_ns INTEGER,
    started_at_us INTEGER
) STRICT;
WITH designs AS MATERIALIZED (
    -- Plans without a layout are older than campaigns, which are in rounds or sequential.
    SELECT run_key, coalesce(json_extract(plan_json, '$.layout.design'), 'interleaved') AS design FROM runs
),
kinds AS (
    SELECT blocks.*,
           CASE WHEN design NOT IN ('rounds', 'sequential') THEN 'cycle'
                WHEN cycle = 0 THEN 'whole' WHEN cycle = 1 THEN 'drain' ELSE 'cycle' END AS kind
    FROM blocks JOIN trials USING (trial_key) JOIN designs USING (run_key)
)
INSERT INTO blocks_anew (block_key, trial_key, image, kind, cycle, position, operations, failed_operations, wall_ns,
    run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns, started_at_us)
SELECT block_key, trial_key, image, kind, CASE kind WHEN 'cycle' THEN cycle END, position, operations,
    failed_operations, wall_ns, run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns, started_at_us
FROM kinds ORDER BY block_key;
DROP TABLE blocks;
ALTER TABLE blocks_anew RENAME TO blocks;
CREATE INDEX blocks_by_trial ON blocks (trial_key);

-- put_aside is 0 of what counts, and 1, 2, ... of what was cut off before the first, the second, ... --resume.
-- Until now that was a multiple of 1000000 on top of the launch. It is part of what names a launch and a trial, so
-- these tables are made anew.
CREATE TABLE launches_anew (
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    put_aside INTEGER NOT NULL DEFAULT 0,
    launch INTEGER NOT NULL,
    started_at_us INTEGER NOT NULL,
    took_ns INTEGER,
    launches_max INTEGER,
    active_steps_json TEXT,
    PRIMARY KEY (run_key, put_aside, launch)
) STRICT, WITHOUT ROWID;
INSERT INTO launches_anew (run_key, put_aside, launch, started_at_us, took_ns, launches_max, active_steps_json)
SELECT run_key, launch / 1000000, launch % 1000000, started_at_us, took_ns, launches_max, active_steps_json
FROM launches;
DROP TABLE launches;
ALTER TABLE launches_anew RENAME TO launches;

CREATE TABLE trials_anew (
    trial_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    put_aside INTEGER NOT NULL DEFAULT 0,
    launch INTEGER NOT NULL,
    step TEXT NOT NULL,
    side INTEGER NOT NULL,
    outcome TEXT CHECK (outcome IN ('done', 'failed', 'skipped')),
    reason TEXT,
    reason_json TEXT,
    latency_operations INTEGER,
    latency_ns_p50 INTEGER,
    latency_ns_p99 INTEGER,
    latency_ns_p999 INTEGER,
    latency_ns_p9999 INTEGER,
    latency_ns_max INTEGER,
    latency_histogram TEXT,
    UNIQUE (run_key, put_aside, launch, step, side)
) STRICT;
INSERT INTO trials_anew (trial_key, run_key, put_aside, launch, step, side, outcome, reason, reason_json, latency_operations,
    latency_ns_p50, latency_ns_p99, latency_ns_p999, latency_ns_p9999, latency_ns_max, latency_histogram)
SELECT trial_key, run_key, launch / 1000000, launch % 1000000, step, side, outcome, reason, reason_json, latency_operations,
    latency_ns_p50, latency_ns_p99, latency_ns_p999, latency_ns_p9999, latency_ns_max, latency_histogram
FROM trials;
DROP TABLE trials;
ALTER TABLE trials_anew RENAME TO trials;
CREATE INDEX trials_by_step ON trials (run_key, put_aside, step, outcome, launch);

-- Nothing is unique here: the texts stay where they are.
ALTER TABLE raw_outputs ADD COLUMN put_aside INTEGER NOT NULL DEFAULT 0;
UPDATE raw_outputs SET put_aside = launch / 1000000, launch = launch % 1000000 WHERE launch >= 1000000;
DROP INDEX raw_outputs_by_run;
CREATE INDEX raw_outputs_by_run ON raw_outputs (run_key, put_aside, launch, side, name);

-- What the report of a run found, so that a list need not judge it anew; NULL where no report was made.
ALTER TABLE runs ADD COLUMN found_json TEXT CHECK (json_valid(found_json));

-- A bisection has no end while it runs, and where it was killed.
CREATE TABLE bisections (
    id TEXT PRIMARY KEY NOT NULL,
    began_at_us INTEGER NOT NULL,
    ended_at_us INTEGER,
    workload TEXT NOT NULL,
    step TEXT NOT NULL,
    good TEXT NOT NULL,
    bad TEXT NOT NULL,
    finding_json TEXT CHECK (json_valid(finding_json))
) STRICT;
CREATE INDEX bisections_by_begin ON bisections (began_at_us);
