-- Since when a topic has no events (Unix ms), null where it has; trimming forgets it a week later, where no group is.
ALTER TABLE topic ADD COLUMN emptied INTEGER;
UPDATE topic SET emptied = unixepoch() * 1000 WHERE id > 1 AND id NOT IN (SELECT topic FROM event);
CREATE INDEX topic_emptied ON topic (emptied) WHERE emptied IS NOT NULL;
