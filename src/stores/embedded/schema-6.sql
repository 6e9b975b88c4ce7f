-- The round in which a group reads its events. It differs after a seek, and for a group that was
-- recreated.
ALTER TABLE consumer ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
-- Events that were redelivered to a group and are not consumed yet, each with its own round.
CREATE TABLE redelivered (
  consumer INTEGER NOT NULL,
  position INTEGER NOT NULL,
  round INTEGER NOT NULL,
  PRIMARY KEY (consumer, position)
) WITHOUT ROWID;
