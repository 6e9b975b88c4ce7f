-- Schema 1. Applied once, in one transaction, to a database whose user_version is 0.

-- Numbers that must survive a restart: the last journal position, the dispatch cursor, counts for
-- stats. Written once per transaction.
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- Short numbers for names that many rows repeat. Never removed.
CREATE TABLE gateway (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE queue (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- The journal. `seq` is the position in `id`, so ids need no index. `conversation` is null if the
-- message has none but itself. `payload` is the output of encodeMessage.
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  gateway INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  conversation TEXT,
  payload TEXT NOT NULL
);
CREATE INDEX journal_gateway ON journal (gateway);
CREATE INDEX journal_conversation ON journal (conversation) WHERE conversation IS NOT NULL;

-- The history of messages. Road: 0 dispatch, 1 receive, 2 outbox.
CREATE TABLE note (
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  road INTEGER NOT NULL,
  what TEXT NOT NULL,
  detail TEXT,
  PRIMARY KEY (seq, n)
) WITHOUT ROWID;

-- Messages ready to be taken. Taken messages have no row, leased ones a row in `leased`.
CREATE TABLE receive (
  gateway INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  conversation TEXT,
  PRIMARY KEY (gateway, seq)
) WITHOUT ROWID;
CREATE INDEX receive_conversation ON receive (conversation, seq) WHERE conversation IS NOT NULL;
CREATE TABLE leased (
  seq INTEGER PRIMARY KEY,
  gateway INTEGER NOT NULL,
  conversation TEXT,
  until INTEGER NOT NULL,
  token INTEGER NOT NULL
);
CREATE INDEX leased_until ON leased (until);

-- Idempotency keys, by hash. New ones are appended to `key_tail` and moved to `key_index` in sorted
-- slices, because random inserts would dirty a page per message. `id`: the id that the key
-- produced, in 16 bytes; the first six are the time.
CREATE TABLE key_tail (n INTEGER PRIMARY KEY, hash BLOB NOT NULL, id BLOB NOT NULL);
CREATE TABLE key_index (hash BLOB PRIMARY KEY, id BLOB NOT NULL) WITHOUT ROWID;

-- Topics. `last` is the position of the newest event ever. Topic 1 is gateway-message, whose events
-- are the journal.
CREATE TABLE topic (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, last INTEGER NOT NULL DEFAULT 0);
INSERT INTO topic (id, name) VALUES (1, 'gateway-message');
CREATE TABLE event (
  topic INTEGER NOT NULL,
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  root TEXT,
  data TEXT NOT NULL,
  PRIMARY KEY (topic, position)
) WITHOUT ROWID;

-- Consumer groups. Positions after `next` are unread. `missed`: number of events that retention
-- removed and that are not reported yet.
CREATE TABLE consumer (
  id INTEGER PRIMARY KEY,
  topic INTEGER NOT NULL,
  name TEXT NOT NULL,
  next INTEGER NOT NULL,
  missed INTEGER NOT NULL DEFAULT 0,
  UNIQUE (topic, name)
);
-- Positions up to `next` that are not consumed. `hidden_until` is 0 for visible ones.
CREATE TABLE pending (
  consumer INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hidden_until INTEGER NOT NULL,
  PRIMARY KEY (consumer, position)
) WITHOUT ROWID;
CREATE INDEX pending_hidden ON pending (consumer, hidden_until, position);

-- Unfinished jobs. State: 0 behind another job of its lane, 1 head of its lane, 2 claimed.
CREATE TABLE job (
  n INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  id TEXT NOT NULL,
  lane TEXT NOT NULL,
  grp TEXT NOT NULL,
  state INTEGER NOT NULL,
  due INTEGER NOT NULL,
  until INTEGER NOT NULL DEFAULT 0,
  token TEXT,
  failures INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  notify INTEGER NOT NULL DEFAULT 0,
  message INTEGER,
  message_id TEXT,
  data TEXT,
  errors TEXT NOT NULL DEFAULT '[]',
  kept TEXT
);
CREATE UNIQUE INDEX job_id ON job (queue, id);
CREATE INDEX job_lane ON job (queue, lane);
CREATE INDEX job_head ON job (queue, grp, due) WHERE state = 1;
CREATE INDEX job_running ON job (queue, until) WHERE state = 2;
CREATE INDEX job_message ON job (message) WHERE message IS NOT NULL;

-- Results of finished jobs with `notify`, for seven days.
CREATE TABLE done (
  queue INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  result TEXT,
  PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX done_at ON done (at);

-- Dead letters, with their messages.
CREATE TABLE dead (
  n INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  lane TEXT NOT NULL,
  grp TEXT NOT NULL,
  reason TEXT NOT NULL,
  notify INTEGER NOT NULL,
  message_id TEXT,
  data TEXT,
  errors TEXT NOT NULL,
  kept TEXT
);
CREATE UNIQUE INDEX dead_id ON dead (id, queue);

CREATE TABLE kv (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires INTEGER
) WITHOUT ROWID;
CREATE INDEX kv_expires ON kv (expires) WHERE expires IS NOT NULL;
