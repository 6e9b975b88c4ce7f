-- Statements of remembered-keys.ts.

-- name: append
INSERT INTO key_tail (n, hash, id) VALUES (?, ?, ?);

-- name: tail
-- What is not surely in the index yet; read once, at start.
SELECT n, hash FROM key_tail ORDER BY n;

-- name: tailAt
SELECT id FROM key_tail WHERE n = ?;

-- name: move
-- Puts a row of the tail into the index. Repeating it is harmless: after a crash it is moved again.
INSERT OR REPLACE INTO key_index (hash, id) SELECT hash, id FROM key_tail WHERE n = ?;

-- name: cut
-- Removes what is in the index from the tail.
DELETE FROM key_tail WHERE n <= ?;

-- name: find
SELECT id FROM key_index WHERE hash = ?;

-- name: sweepEnd
-- Where the next slice of a sweep ends.
SELECT max(hash) AS hash FROM (SELECT hash FROM key_index WHERE hash > ? ORDER BY hash LIMIT ? + 0);

-- name: sweep
-- Removes the expired keys of a slice. The first six bytes of an id are its time.
DELETE FROM key_index WHERE hash > ? AND hash <= ? AND substr(id, 1, 6) <= ?;

-- name: slice
SELECT hash FROM key_index WHERE hash > ? ORDER BY hash LIMIT ? + 0;
