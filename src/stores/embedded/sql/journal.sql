-- Statements of journal.ts. The store's writer puts all of one event-loop turn into one transaction.

-- name: insert
-- Appends one message. `seq` comes from the counter `journal` and is never used twice.
INSERT INTO journal (seq, id, gateway, received_at, conversation, payload) VALUES (?, ?, ?, ?, ?, ?);

-- name: ready
-- Makes it visible to receive.
INSERT INTO receive (gateway, seq, conversation) VALUES (?, ?, ?);

-- name: at
-- One message by position.
SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
FROM journal j JOIN gateway g ON g.id = j.gateway WHERE j.seq = ?;

-- name: after
-- Messages after a position, oldest first.
SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
FROM journal j CROSS JOIN gateway g ON g.id = j.gateway WHERE j.seq > ? ORDER BY j.seq LIMIT ? + 0;

-- name: newest
-- Newest first, before a position.
SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
FROM journal j CROSS JOIN gateway g ON g.id = j.gateway WHERE j.seq < ? ORDER BY j.seq DESC LIMIT ? + 0;

-- name: newestOfGateway
-- Newest of one gateway, before a position, by journal_gateway.
SELECT seq FROM journal WHERE gateway = ? AND seq < ? ORDER BY seq DESC LIMIT ? + 0;

-- name: newestOfConversation
-- Newest that name a conversation, before a position, by journal_conversation. Gateway 0: any.
SELECT seq FROM journal
WHERE conversation = ?1 AND seq < ?2 AND (?3 = 0 OR gateway = ?3) ORDER BY seq DESC LIMIT ?4 + 0;

-- name: idAt
-- The id at a position: proves that the whole id of a caller is right, not only its position.
SELECT id FROM journal WHERE seq = ?;

-- name: first
SELECT seq, id FROM journal ORDER BY seq LIMIT 1;

-- name: firstAfter
-- The oldest message after a position.
SELECT id FROM journal WHERE seq > ? ORDER BY seq LIMIT 1;

-- name: last
SELECT id FROM journal ORDER BY seq DESC LIMIT 1;

-- name: note
-- Appends a note behind those that a message has.
INSERT INTO note (seq, n, at, road, what, detail)
VALUES (?1, coalesce((SELECT max(n) + 1 FROM note WHERE seq = ?1), 0), ?2, ?3, ?4, ?5);

-- name: history
SELECT at, road, what, detail FROM note WHERE seq = ? ORDER BY n;
