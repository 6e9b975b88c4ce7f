-- Statements of trim.ts. Each removes a bounded slice.

-- name: oldest
-- Positions that may go by count: seen by the pump, needed by no job.
SELECT seq FROM journal
WHERE seq <= ? AND NOT EXISTS (SELECT 1 FROM job WHERE job.message = journal.seq) ORDER BY seq LIMIT ? + 0;

-- name: oldestOfGateway
-- The same for one gateway, with the ids, whose time tells the age.
SELECT seq, id FROM journal
WHERE gateway = ? AND seq <= ? AND NOT EXISTS (SELECT 1 FROM job WHERE job.message = journal.seq)
ORDER BY seq LIMIT ? + 0;

-- name: removeMessage
DELETE FROM journal WHERE seq = ? RETURNING gateway;

-- name: removeNotes
DELETE FROM note WHERE seq = ?;

-- name: removeReady
DELETE FROM receive WHERE gateway = ? AND seq = ?;

-- name: removeLeased
DELETE FROM leased WHERE seq = ?;

-- name: gateways
SELECT id, name FROM gateway;

-- name: topics
-- A page of topics to look at, in the order of their numbers.
SELECT t.id, t.name, t.last, e.position AS first, e.id AS event
FROM topic t JOIN event e ON e.topic = t.id AND e.position = (SELECT min(position) FROM event WHERE topic = t.id)
WHERE t.id > ? ORDER BY t.id LIMIT ? + 0;

-- name: events
SELECT position, id FROM event WHERE topic = ? ORDER BY position LIMIT ? + 0;

-- name: removeEvents
DELETE FROM event WHERE topic = ? AND position <= ?;

-- name: losePending
-- What a group had been shown but not consumed is gone too, and will be told.
DELETE FROM pending WHERE consumer = ?1 AND position BETWEEN ?2 AND ?3
AND NOT EXISTS (SELECT 1 FROM event WHERE topic = ?4 AND event.position = pending.position)
AND NOT EXISTS (SELECT 1 FROM journal WHERE ?4 = 1 AND seq = pending.position);

-- name: consumersOf
SELECT id FROM consumer WHERE topic = ?;

-- name: addMissed
UPDATE consumer SET missed = missed + ? WHERE id = ?;

-- name: expiredValues
DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE expires <= ? LIMIT ? + 0);

-- name: expiredResults
DELETE FROM done WHERE (queue, id) IN (SELECT queue, id FROM done WHERE at <= ? LIMIT ? + 0);
