-- `oldest`: time of the oldest event of a topic (Unix ms); 0 if unknown, null if the topic is
-- empty. `emptied`: since when it is empty; trimming removes the topic a week later, unless it has
-- a group. Both are null for topic 1.
ALTER TABLE topic ADD COLUMN oldest INTEGER;
ALTER TABLE topic ADD COLUMN emptied INTEGER;
UPDATE topic SET oldest = 0 WHERE id IN (SELECT topic FROM event);
UPDATE topic SET emptied = unixepoch() * 1000 WHERE oldest IS NULL AND id > 1;
CREATE INDEX topic_oldest ON topic (oldest) WHERE oldest IS NOT NULL;
CREATE INDEX topic_emptied ON topic (emptied) WHERE emptied IS NOT NULL;
