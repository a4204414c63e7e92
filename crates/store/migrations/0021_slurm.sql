-- How Slurm has a job; NULL if ssh brought it to its host. Of such a job `host` is the node.
ALTER TABLE jobs ADD COLUMN slurm_json TEXT;
