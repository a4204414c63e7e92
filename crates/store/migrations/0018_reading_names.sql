-- The names of a sample's readings, each list once: they are three times as long as the values, and the same every second.
CREATE TABLE reading_names (
    reading_names_key INTEGER PRIMARY KEY,
    names_json TEXT NOT NULL UNIQUE CHECK (json_valid(names_json))
) STRICT;

-- NULL in older rows, whose readings_json has the names too; in others it has the values alone, in the order of the names.
ALTER TABLE host_samples ADD COLUMN reading_names_key INTEGER REFERENCES reading_names (reading_names_key);

-- A row for each reading, for queries by hand; of older rows too.
CREATE VIEW host_readings AS
SELECT host_sample_key, run_key, at_us, name.value AS name, readings_json ->> name.key AS value
FROM host_samples JOIN reading_names USING (reading_names_key), json_each(names_json) AS name
UNION ALL
SELECT host_sample_key, run_key, at_us, reading.key, reading.value
FROM host_samples, json_each(readings_json) AS reading
WHERE reading_names_key IS NULL;
