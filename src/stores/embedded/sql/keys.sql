-- Statements of remembered-keys.ts.

-- name: append
INSERT INTO key_tail (n, hash, id) VALUES (?, ?, ?);

-- name: tail
-- What is not surely in the index yet; read once, at start, in pages.
SELECT n, hash FROM key_tail WHERE n > ? ORDER BY n LIMIT ? + 0;

-- name: tailAt
SELECT hash, id FROM key_tail WHERE n = ?;

-- name: cut
-- Removes a slice of the tail that is in the index.
DELETE FROM key_tail WHERE n IN (SELECT n FROM key_tail WHERE n <= ? ORDER BY n LIMIT ? + 0);

-- name: find
SELECT id FROM key_index WHERE hash = ?;

-- name: store
-- Repeating it is harmless: after a crash a slice is moved again.
INSERT OR REPLACE INTO key_index (hash, id) VALUES (?, ?);

-- name: sweepEnd
-- Where the next slice of a sweep ends.
SELECT max(hash) AS hash FROM (SELECT hash FROM key_index WHERE hash > ? ORDER BY hash LIMIT ? + 0);

-- name: sweep
-- Removes the expired keys of a slice. The first six bytes of an id are its time.
DELETE FROM key_index WHERE hash > ? AND hash <= ? AND substr(id, 1, 6) <= ?;

-- name: slice
SELECT hash FROM key_index WHERE hash > ? ORDER BY hash LIMIT ? + 0;
