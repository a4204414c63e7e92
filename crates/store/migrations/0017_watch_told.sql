-- Whether the newest message of a change was delivered; if not, the next night sends it again.
ALTER TABLE watched ADD COLUMN is_told INTEGER NOT NULL DEFAULT 1;

-- The runs that are held against what is known. One that was measured and is not among them is judged in the next night.
CREATE TABLE watch_runs (run TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO watch_runs SELECT id FROM runs WHERE name >= 'watch/' AND name < 'watch0' AND outcome = 'done';
