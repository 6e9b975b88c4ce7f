-- Statements of jobs.ts, claims.ts and dead-letters.ts. Within a lane only the job with the lowest n is
-- ever in state 1 or 2; that is what makes lanes first in, first out.

-- name: insert
-- Adds a job at the end of its lane: head (1) where the lane is empty, else behind (0).
-- Ignored where that id is unfinished in the queue.
INSERT INTO job (queue, id, lane, grp, state, due, notify, not_before, message, message_id, data, kept)
VALUES (?1, ?2, ?3, ?4, NOT EXISTS (SELECT 1 FROM job WHERE queue = ?1 AND lane = ?3),
  ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (queue, id) DO NOTHING;

-- name: lose
-- Frees claims that ran out. The token stays until another claims: a holder that lives may still settle.
UPDATE job SET state = 1, due = until, lost = lost + 1 WHERE queue = ? AND state = 2 AND until <= ?;

-- name: groups
-- The groups that have a head: one index step a group.
WITH RECURSIVE g (name) AS (
  SELECT (SELECT min(grp) FROM job WHERE queue = ?1 AND state = 1)
  UNION ALL
  SELECT (SELECT min(grp) FROM job WHERE queue = ?1 AND state = 1 AND grp > g.name) FROM g WHERE g.name IS NOT NULL
)
SELECT name FROM g WHERE name IS NOT NULL;

-- name: heads
-- Due heads of a group, the longest ready first, from job_head alone.
SELECT n, due FROM job WHERE queue = ? AND state = 1 AND grp = ? AND due <= ? ORDER BY due, n LIMIT ? + 0;

-- name: nextHead
SELECT min(due) AS due FROM job WHERE queue = ? AND state = 1 AND grp = ? AND due > ?;

-- name: nextLost
SELECT min(until) AS due FROM job WHERE queue = ? AND state = 2;

-- name: claim
UPDATE job SET state = 2, until = ?, token = ? WHERE n = ?
RETURNING id, lane, grp, failures, lost, notify, not_before, message, message_id, data, errors, kept;

-- name: held
-- The job of a claim.
SELECT n, id, lane, grp, state, failures, notify, message, message_id, data, errors, kept
FROM job WHERE n = ? AND queue = ? AND id = ? AND token = ?;

-- name: remove
DELETE FROM job WHERE n = ?;

-- name: promote
-- Makes the oldest job of a lane its head.
UPDATE job SET state = 1, due = max(due, ?3)
WHERE n = (SELECT n FROM job WHERE queue = ?1 AND lane = ?2 ORDER BY n LIMIT 1);

-- name: retry
UPDATE job SET state = 1, due = ?, failures = failures + 1, errors = ?, token = NULL, lost = lost - ? WHERE n = ?;

-- name: release
-- Without a delay the job keeps its due time, and so its place among the lanes.
UPDATE job SET state = 1, due = max(due, ?), token = NULL, lost = lost - ? WHERE n = ?;

-- name: renew
UPDATE job SET state = 2, until = ?, lost = lost - (state = 1) WHERE n = ? AND queue = ? AND id = ? AND token = ?;

-- name: abandon
-- At start: whoever held claims was the process before this one, and is dead.
UPDATE job SET until = min(until, ?) WHERE state = 2;

-- name: finish
INSERT OR REPLACE INTO done (queue, id, at, result) VALUES (?, ?, ?, ?);

-- name: finished
SELECT at, result FROM done WHERE queue = ? AND id = ? AND at > ?;

-- name: state
SELECT state, failures FROM job WHERE queue = ? AND id = ?;

-- name: list
-- In the order of adding, with no sort of the whole queue.
SELECT id, lane, grp, state, failures, due FROM job NOT INDEXED WHERE queue = ? ORDER BY n LIMIT ? + 0;

-- name: running
SELECT count(*) AS count FROM job WHERE queue = ? AND state = 2;

-- name: bury
INSERT INTO dead (queue, id, at, lane, grp, reason, notify, message_id, data, errors, kept)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: unbury
-- Removes the dead letter of that job, where one is left from an earlier life.
DELETE FROM dead WHERE queue = ? AND id = ?;

-- name: letters
-- Newest first. Queue 0: any; group null: any.
SELECT d.n, d.queue AS queue_id, q.name AS queue, d.id, d.at, d.lane, d.grp, d.reason, d.notify, d.message_id,
  d.data, d.errors, d.kept
FROM dead d CROSS JOIN queue q ON q.id = d.queue
WHERE (?1 = 0 OR d.queue = ?1) AND (?2 IS NULL OR d.grp = ?2) ORDER BY d.n DESC LIMIT ?3 + 0;

-- name: letter
-- By job id; where two queues have a dead job of that id, the newest.
SELECT d.n, d.queue AS queue_id, q.name AS queue, d.id, d.at, d.lane, d.grp, d.reason, d.notify, d.message_id,
  d.data, d.errors, d.kept
FROM dead d JOIN queue q ON q.id = d.queue WHERE d.id = ? ORDER BY d.n DESC LIMIT 1;

-- name: deathOf
SELECT reason, errors FROM dead WHERE queue = ? AND id = ?;

-- name: dropLetter
DELETE FROM dead WHERE n = ?;

-- name: queues
SELECT id, name FROM queue ORDER BY name;
