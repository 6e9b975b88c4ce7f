-- Statements of receive.ts.

-- name: oldest
-- The oldest message that is ready on any gateway: one index step a gateway.
SELECT r.seq, g.id AS gateway FROM gateway g
CROSS JOIN receive r ON r.gateway = g.id AND r.seq = (SELECT min(seq) FROM receive WHERE gateway = g.id)
ORDER BY r.seq LIMIT 1;

-- name: oldestOfGateway
SELECT seq, gateway FROM receive WHERE gateway = ? ORDER BY seq LIMIT 1;

-- name: oldestOfConversation
-- By receive_conversation. Gateway 0: any.
SELECT seq, gateway FROM receive
WHERE conversation = ?1 AND (?2 = 0 OR gateway = ?2) ORDER BY seq LIMIT 1;

-- name: owning
-- The message at a position, where it is ready, has that id and is its own conversation.
SELECT r.seq, r.gateway FROM journal j JOIN receive r ON r.gateway = j.gateway AND r.seq = j.seq
WHERE j.seq = ?1 AND j.id = ?2 AND (?3 = 0 OR j.gateway = ?3);

-- name: remove
DELETE FROM receive WHERE gateway = ? AND seq = ? RETURNING conversation;

-- name: lease
INSERT INTO leased (seq, gateway, conversation, until, token) VALUES (?, ?, ?, ?, ?);

-- name: expired
-- Ends leases that ran out, so that the rows can go back.
DELETE FROM leased WHERE until <= ? RETURNING seq, gateway, conversation;

-- name: end
-- Ends one lease that still runs.
DELETE FROM leased WHERE seq = ? AND token = ? AND until > ? RETURNING seq, gateway, conversation;

-- name: back
INSERT INTO receive (gateway, seq, conversation) VALUES (?, ?, ?);

-- name: nextExpiry
SELECT min(until) AS until FROM leased;

-- name: leasedCount
SELECT count(*) AS count FROM leased;
