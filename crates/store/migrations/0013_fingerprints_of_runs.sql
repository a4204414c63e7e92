-- The device of the work directory; NULL: of before, or not known.
ALTER TABLE fingerprints ADD COLUMN device TEXT;

-- How fast the host was when a run began; NULL: of before, or it was not measured.
ALTER TABLE runs ADD COLUMN fingerprint_key INTEGER REFERENCES fingerprints (fingerprint_key);
