-- `oldest`: the time of the oldest event of a topic (Unix ms), 0 where that was not looked at yet, null where there is none. `emptied`:
-- since when there is none; trimming forgets the topic a week later, where no group is. Those of topic 1 are null.
ALTER TABLE topic ADD COLUMN oldest INTEGER;
ALTER TABLE topic ADD COLUMN emptied INTEGER;
UPDATE topic SET oldest = 0 WHERE id IN (SELECT topic FROM event);
UPDATE topic SET emptied = unixepoch() * 1000 WHERE oldest IS NULL AND id > 1;
CREATE INDEX topic_oldest ON topic (oldest) WHERE oldest IS NOT NULL;
CREATE INDEX topic_emptied ON topic (emptied) WHERE emptied IS NOT NULL;
