-- A run may be gone on with after another boot or by another version: each time with the host as it was then.
CREATE TABLE resumes (
    resume_key INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    at_us INTEGER NOT NULL,
    host_key INTEGER NOT NULL REFERENCES hosts (host_key),
    tool_version TEXT NOT NULL
) STRICT;

CREATE INDEX resumes_by_run ON resumes (run_key);

-- The visit in which a warning was given; NULL: it is about the whole run, or an older version wrote it. It is put aside with
-- its visit.
ALTER TABLE warnings ADD COLUMN launch INTEGER;
ALTER TABLE warnings ADD COLUMN side INTEGER;
ALTER TABLE warnings ADD COLUMN put_aside INTEGER NOT NULL DEFAULT 0;

-- What a bisection was asked for, with which `--resume` goes on: NULL if an older version began it.
ALTER TABLE bisections ADD COLUMN request_json TEXT CHECK (json_valid(request_json));
