-- What the engine counted per operation in a launch that was profiled, by its own names.
ALTER TABLE profiles ADD COLUMN counters_json TEXT NOT NULL DEFAULT '{}';
-- Stacks of foreground threads while they waited: names, and stacks as in stacks_json, the thread named after what it waits for.
ALTER TABLE profiles ADD COLUMN waiting_json TEXT NOT NULL DEFAULT '{"names":[],"stacks":[]}';
