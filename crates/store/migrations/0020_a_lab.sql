-- Indexes for a store of many hosts and nights. A row of `runs` has its whole plan in it: what reads a few columns of every run must not
-- read the rows.

-- The runs of a campaign. The column stands behind the plan.
CREATE INDEX runs_by_campaign ON runs (campaign) WHERE campaign IS NOT NULL;
-- The calibrations of a host.
CREATE INDEX runs_by_host ON runs (host_key, purpose, started_at_us);
-- What a host was at each boot.
CREATE INDEX hosts_by_name ON hosts (name);
-- All that lists show or filter of a run.
CREATE INDEX runs_in_lists ON runs (started_at_us, id, name, purpose, outcome, ended_at_us, workload_name, host_key);
