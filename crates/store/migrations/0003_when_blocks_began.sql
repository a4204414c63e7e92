-- When a block began, so that what the host did meanwhile can be found; NULL in older runs and where db_bench ran.
ALTER TABLE blocks ADD COLUMN started_at_us INTEGER;
