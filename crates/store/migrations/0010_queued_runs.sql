-- The runs of a campaign that have not begun: one for each workload, in their order. A row goes when its run begins.
CREATE TABLE queued_runs (
    queued_run_key INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL,
    name TEXT NOT NULL,
    plan_json TEXT NOT NULL CHECK (json_valid(plan_json)),
    -- The options file that each side's build wrote: texts and nulls.
    written_options_json TEXT NOT NULL CHECK (json_valid(written_options_json))
) STRICT;

CREATE INDEX queued_runs_by_campaign ON queued_runs (campaign);

-- Which runs belong together: the same text in each of them and in those that are still queued. NULL: it stands alone.
ALTER TABLE runs ADD COLUMN campaign TEXT;
