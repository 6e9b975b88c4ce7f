-- Statements of key-values.ts and leases.ts.

-- name: get
SELECT value, version FROM kv WHERE key = ? AND (expires IS NULL OR expires > ?);

-- name: set
INSERT OR REPLACE INTO kv (key, value, version, expires) VALUES (?, ?, ?, ?);

-- name: delete
-- Returns nothing for a key that had expired.
DELETE FROM kv WHERE key = ?1 AND (expires IS NULL OR expires > ?2);

-- name: list
SELECT key FROM kv WHERE key >= ? AND key < ? AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ? + 0;

-- name: lease
SELECT owner, token, until FROM lease WHERE name = ?;

-- name: hold
INSERT OR REPLACE INTO lease (name, owner, token, until) VALUES (?, ?, ?, ?);

-- name: release
UPDATE lease SET until = 0 WHERE name = ? AND owner = ?;

-- name: abandon
-- At start: the holders lived in the process before this one.
UPDATE lease SET until = 0;
