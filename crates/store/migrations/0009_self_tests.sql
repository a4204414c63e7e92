-- What each calibration says of each of its steps, so that a report need not read hundreds of runs. Calibrations of before
-- this have no rows and do not count: both of their sides loaded the same file.
CREATE TABLE self_tests (
    run_key INTEGER NOT NULL REFERENCES runs (run_key),
    step TEXT NOT NULL,
    family INTEGER NOT NULL CHECK (family > 0),
    gains_json TEXT NOT NULL CHECK (json_valid(gains_json)),
    PRIMARY KEY (run_key, step)
) STRICT, WITHOUT ROWID;

-- When a user said that a fault was mended: what is measured on this host from then on is judged by later calibrations
-- alone, and what was measured before by those of before.
CREATE TABLE self_test_starts (
    host_name TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (host_name, at_us)
) STRICT, WITHOUT ROWID;
