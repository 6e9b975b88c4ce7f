-- Statements of topics.ts and groups.ts.

-- name: topic
SELECT id, last FROM topic WHERE name = ?;

-- name: addTopic
INSERT INTO topic (name) VALUES (?) RETURNING id, last;

-- name: advance
-- Reserves positions; they are contiguous and never used twice.
UPDATE topic SET last = last + ? WHERE id = ? RETURNING last;

-- name: insert
INSERT INTO event (topic, position, id, type, source, timestamp, root, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: after
SELECT position, id, type, source, timestamp, root, data FROM event
WHERE topic = ? AND position > ? ORDER BY position LIMIT ? + 0;

-- name: at
SELECT position, id, type, source, timestamp, root, data FROM event WHERE topic = ? AND position = ?;

-- name: idAt
SELECT id FROM event WHERE topic = ? AND position = ?;

-- name: first
SELECT min(position) AS position FROM event WHERE topic = ?;

-- name: positions
-- Which positions of a range are there.
SELECT position FROM event WHERE topic = ? AND position > ? AND position < ? ORDER BY position;

-- name: journalPositions
SELECT seq AS position FROM journal WHERE seq > ? AND seq < ? ORDER BY seq;

-- name: consumer
-- `due`: when the first of what is pending comes back (0: it has); null where nothing is pending.
SELECT id, next, missed, (SELECT min(hidden_until) FROM pending WHERE consumer = consumer.id) AS due
FROM consumer WHERE topic = ? AND name = ?;

-- name: addConsumer
INSERT INTO consumer (topic, name, next) VALUES (?, ?, ?);

-- name: removeConsumer
DELETE FROM consumer WHERE id = ?;

-- name: removePendingOf
DELETE FROM pending WHERE consumer = ?;

-- name: move
-- Sets how far a group has read; what it missed has been told.
UPDATE consumer SET next = ?, missed = 0 WHERE id = ?;

-- name: moveSilently
-- Moves a group past what it acknowledged; what is missing there will be told by the next read.
UPDATE consumer SET next = ?, missed = missed + ? WHERE id = ?;

-- name: consumers
-- All groups, or those of one topic (0: all).
SELECT t.id, t.last, t.name AS topic, c.name, c.next,
  (SELECT count(*) FROM pending p WHERE p.consumer = c.id) AS pending
FROM consumer c JOIN topic t ON t.id = c.topic WHERE ?1 = 0 OR t.id = ?1 ORDER BY t.name, c.name;

-- name: visible
-- Given back and visible, in order.
SELECT position FROM pending WHERE consumer = ? AND hidden_until = 0 ORDER BY position LIMIT ? + 0;

-- name: expired
-- Hidden until a time that has come.
SELECT position FROM pending WHERE consumer = ? AND hidden_until > 0 AND hidden_until <= ? ORDER BY position LIMIT ? + 0;

-- name: nextVisible
SELECT min(hidden_until) AS at FROM pending WHERE consumer = ? AND hidden_until > ?;

-- name: hide
-- Hides a position until a time (0: makes it visible).
INSERT INTO pending (consumer, position, hidden_until) VALUES (?, ?, ?)
ON CONFLICT (consumer, position) DO UPDATE SET hidden_until = excluded.hidden_until;

-- name: isPending
SELECT 1 AS yes FROM pending WHERE consumer = ? AND position = ?;

-- name: consume
DELETE FROM pending WHERE consumer = ? AND position = ?;
