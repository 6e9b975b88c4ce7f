-- When a consumer group was last used (Unix ms, accurate to the hour). Trimming removes unused
-- groups.
ALTER TABLE consumer ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
UPDATE consumer SET used = unixepoch() * 1000;
