-- Indexes of those who look around: `dbdyno serve` lists runs, counts their trials, follows a step over runs.

-- All runs of a workload, newest first.
CREATE INDEX runs_by_workload ON runs (workload_name, started_at_us);
-- The last calibration of a host.
CREATE INDEX runs_by_purpose ON runs (purpose, started_at_us);
-- The trials of one step of a run; and all of a run by how they ended, without a look at the rows.
CREATE INDEX trials_by_step ON trials (run_key, step, outcome, launch);
