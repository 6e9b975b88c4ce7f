-- Views of the connection, made when the database is opened; no file holds them.

-- Messages with the names of their gateways.
CREATE TEMP VIEW message AS SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
  FROM journal j CROSS JOIN gateway g ON g.id = j.gateway;

-- The places of topics where there is an event. Topic 1 is gateway-message. The parts have columns of the same type, or
-- SQLite would make a table of both.
CREATE TEMP VIEW place AS SELECT topic, position, id FROM event UNION ALL SELECT CAST(1 AS INTEGER), seq, id FROM journal;

-- Dead letters with the names of their queues.
CREATE TEMP VIEW letter AS SELECT d.*, q.name AS queue_name FROM dead d CROSS JOIN queue q ON q.id = d.queue;

-- The oldest message that is ready on any gateway: one index step a gateway.
CREATE TEMP VIEW oldest_ready AS SELECT r.seq, g.id AS gateway FROM gateway g
  CROSS JOIN receive r ON r.gateway = g.id AND r.seq = (SELECT min(seq) FROM receive WHERE gateway = g.id)
  ORDER BY r.seq LIMIT 1;

-- Messages that no job needs.
CREATE TEMP VIEW free_message AS SELECT * FROM journal j WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.message = j.seq);

-- How each message stands: by its dead letter, its job, and the last of its notes that tell. Of others the dispatch
-- cursor does: what it has passed was given to no route.
CREATE TEMP VIEW standing AS SELECT j.seq, j.id, coalesce(
    (SELECT 'dead' FROM dead d JOIN queue q ON q.id = d.queue WHERE d.id = j.id AND q.name = 'dispatch'),
    (SELECT CASE WHEN job.state = 2 THEN 'running' WHEN job.failures > 0 THEN 'retrying' ELSE 'waiting' END
      FROM queue q JOIN job ON job.queue = q.id AND job.id = j.id WHERE q.name = 'dispatch'),
    (SELECT CASE what WHEN 'dead' THEN 'dropped' WHEN 'waits for an approval' THEN 'approval'
        WHEN 'collected' THEN 'merged' WHEN 'superseded' THEN 'merged' WHEN 'steered' THEN 'merged' ELSE what END
      FROM note WHERE note.seq = j.seq AND road = 0
        AND what IN ('done', 'dead', 'unrouted', 'waits for an approval', 'collected', 'superseded', 'steered')
      ORDER BY n DESC LIMIT 1),
    CASE WHEN j.seq <= (SELECT value FROM counter WHERE name = 'pump') THEN 'unrouted' ELSE 'waiting' END) AS outcome
  FROM journal j;
