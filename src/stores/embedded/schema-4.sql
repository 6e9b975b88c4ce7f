-- The newest idempotency keys, one row per transaction: 32 bytes per key, its hash and its id.
CREATE TABLE key_batch (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, keys BLOB NOT NULL);
INSERT OR REPLACE INTO key_index (hash, id) SELECT hash, id FROM key_tail ORDER BY hash, n;
DROP TABLE key_tail;

-- The receive road as a position in the journal. Ready: the messages of a gateway after `taken`,
-- except those of a conversation up to `seq` in `conversation_taken`. `receive` has messages before
-- `taken` that were returned, and those that were ready before this version.
ALTER TABLE gateway ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
UPDATE gateway SET taken = coalesce((SELECT value FROM counter WHERE name = 'journal'), 0);
CREATE TABLE conversation_taken (
  gateway INTEGER NOT NULL,
  conversation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (gateway, conversation)
) WITHOUT ROWID;
CREATE INDEX conversation_taken_seq ON conversation_taken (gateway, seq);
DROP INDEX journal_conversation;
CREATE INDEX journal_conversation ON journal (conversation, gateway) WHERE conversation IS NOT NULL;
