-- When a consumer group was last read from (Unix ms, to the hour); trimming removes those that nobody uses.
ALTER TABLE consumer ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
UPDATE consumer SET used = unixepoch() * 1000;
