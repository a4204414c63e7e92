-- How fast a host was at one time, apart from any engine.
CREATE TABLE fingerprints (
    fingerprint_key INTEGER PRIMARY KEY,
    host_name TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    -- A list of names, values and spreads.
    figures_json TEXT NOT NULL CHECK (json_valid(figures_json))
) STRICT;

CREATE INDEX fingerprints_by_host ON fingerprints (host_name, at_us);
