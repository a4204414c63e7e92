-- Servers that are not ours: no file of them is known, and nobody sees what CPU they use. What is not known is NULL.

-- SQLite cannot take NOT NULL from a column: the table is made anew with all its rows. Keys stay, so what refers to
-- them does.
CREATE TABLE builds_anew (
    build_key INTEGER PRIMARY KEY,
    reference TEXT NOT NULL,
    sha256 TEXT,
    size_bytes INTEGER,
    build_json TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO builds_anew (build_key, reference, sha256, size_bytes, build_json)
SELECT build_key, reference, sha256, size_bytes, build_json FROM builds;
DROP TABLE builds;
ALTER TABLE builds_anew RENAME TO builds;
CREATE INDEX builds_by_sha256 ON builds (sha256);

CREATE TABLE blocks_anew (
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
    process_cpu_ns INTEGER,
    started_at_us INTEGER
) STRICT;
INSERT INTO blocks_anew (block_key, trial_key, image, cycle, position, operations, failed_operations, wall_ns,
    run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns, started_at_us)
SELECT block_key, trial_key, image, cycle, position, operations, failed_operations, wall_ns,
    run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns, started_at_us
FROM blocks;
DROP TABLE blocks;
ALTER TABLE blocks_anew RENAME TO blocks;
CREATE INDEX blocks_by_trial ON blocks (trial_key);
