-- After which launches a run was looked at, and the share of its budget that had passed by then: 1 at the last look. A
-- report replays these looks, so that it says what the run said.
ALTER TABLE launches ADD COLUMN look_share REAL CHECK (look_share > 0.0 AND look_share <= 1.0);

-- Runs of before were looked at after these launches, and alpha was spent by how many of the most launches they were.
UPDATE launches SET look_share = min(1.0, 1.0 * launch / launches_max)
WHERE put_aside = 0 AND took_ns IS NOT NULL AND launches_max > 0 AND launch IN (8, 10, 12, 16, 20, 24, 32, 48);
UPDATE launches SET look_share = 1.0
WHERE put_aside = 0 AND took_ns IS NOT NULL
    AND run_key IN (SELECT run_key FROM runs WHERE outcome = 'done')
    AND launch = (SELECT max(last.launch) FROM launches AS last
        WHERE last.run_key = launches.run_key AND last.put_aside = 0 AND last.took_ns IS NOT NULL);
