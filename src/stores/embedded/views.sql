-- Temporary views of the connection, created when the database is opened.

-- Messages with the names of their gateways.
CREATE TEMP VIEW message AS SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
  FROM journal j CROSS JOIN gateway g ON g.id = j.gateway;

-- The positions of existing events. Topic 1 is gateway-message. Both parts need columns of the same
-- type; otherwise SQLite would materialise them.
CREATE TEMP VIEW place AS SELECT topic, position, id FROM event UNION ALL SELECT CAST(1 AS INTEGER), seq, id FROM journal;

-- Dead letters with the names of their queues.
CREATE TEMP VIEW letter AS SELECT d.*, q.name AS queue_name FROM dead d CROSS JOIN queue q ON q.id = d.queue;

-- The oldest ready messages of each gateway on the receive road, or null. `fresh`: the first one
-- after the cursors that was not taken ahead. `back`: the first returned one. Costs a few index
-- steps per gateway.
CREATE TEMP VIEW ready_of AS SELECT g.id AS gateway,
    (SELECT min(seq) FROM receive WHERE gateway = g.id) AS back,
    (SELECT j.seq FROM journal j WHERE j.gateway = g.id AND j.seq > g.taken AND NOT EXISTS (
        SELECT 1 FROM conversation_taken c
        WHERE c.gateway = j.gateway AND c.conversation = coalesce(j.conversation, j.id) AND c.seq >= j.seq)
        AND NOT EXISTS (SELECT 1 FROM taken_ahead a WHERE a.gateway = j.gateway AND a.seq = j.seq)
      ORDER BY j.seq LIMIT 1) AS fresh
  FROM gateway g;

-- Messages that no job needs.
CREATE TEMP VIEW free_message AS SELECT * FROM journal j WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.message = j.seq);

-- The outcome of the job that continues a message after the decision about an approval. The id of
-- this job is `MESSAGE:APPROVAL`. Null if it has ended.
CREATE TEMP VIEW resumed AS SELECT j.seq, coalesce(
    (SELECT 'dead' FROM queue q JOIN dead d ON d.queue = q.id AND d.id > j.id || ':' AND d.id < j.id || ';' WHERE q.name = 'dispatch'),
    (SELECT CASE WHEN job.state = 2 THEN 'running' WHEN job.failures > 0 THEN 'retrying' ELSE 'waiting' END
      FROM queue q JOIN job ON job.queue = q.id AND job.id > j.id || ':' AND job.id < j.id || ';' WHERE q.name = 'dispatch')) AS outcome
  FROM journal j;

-- The outcome of dispatch for each message: from its dead letter, its job, or its last relevant
-- note. A message before the dispatch cursor that has none of these had no route.
CREATE TEMP VIEW dispatched AS SELECT j.seq, j.id, coalesce(
    (SELECT 'dead' FROM dead d JOIN queue q ON q.id = d.queue WHERE d.id = j.id AND q.name = 'dispatch'),
    (SELECT CASE WHEN job.state = 2 THEN 'running' WHEN job.failures > 0 THEN 'retrying' ELSE 'waiting' END
      FROM queue q JOIN job ON job.queue = q.id AND job.id = j.id WHERE q.name = 'dispatch'),
    (SELECT CASE what WHEN 'handled by a person' THEN 'dropped'
        WHEN 'dead' THEN coalesce((SELECT outcome FROM resumed WHERE resumed.seq = j.seq), 'dropped')
        WHEN 'dropped' THEN coalesce((SELECT outcome FROM resumed WHERE resumed.seq = j.seq), 'dropped')
        WHEN 'approved' THEN coalesce((SELECT outcome FROM resumed WHERE resumed.seq = j.seq), 'waiting')
        WHEN 'denied' THEN coalesce((SELECT outcome FROM resumed WHERE resumed.seq = j.seq), 'waiting')
        WHEN 'expired' THEN coalesce((SELECT outcome FROM resumed WHERE resumed.seq = j.seq), 'waiting')
        WHEN 'waits for an approval' THEN 'approval'
        WHEN 'collected' THEN 'merged' WHEN 'superseded' THEN 'merged' WHEN 'steered' THEN 'merged' ELSE what END
      FROM note WHERE note.seq = j.seq AND road = 0
        AND what IN ('done', 'dead', 'dropped', 'handled by a person', 'unrouted', 'waits for an approval', 'approved', 'denied', 'expired',
          'collected', 'superseded', 'steered')
      ORDER BY n DESC LIMIT 1),
    CASE WHEN j.seq <= (SELECT value FROM counter WHERE name = 'pump') THEN 'unrouted' ELSE 'waiting' END) AS outcome
  FROM journal j;

-- The outcome of each message: that of dispatch, or that of the reply if dispatch has ended. A
-- bounce may come days later, and takes precedence over other replies. `not sent` is no outcome:
-- the gateway cannot reply. `not delivered`, a mail to the sender, is noted when its dead letter is
-- dropped, with the time of the mail.
CREATE TEMP VIEW message_outcome AS SELECT seq, id, CASE
    WHEN outcome NOT IN ('done', 'unrouted') THEN outcome
    WHEN EXISTS (SELECT 1 FROM note WHERE note.seq = d.seq AND road = 2 AND what = 'bounced') THEN 'bounced'
    WHEN EXISTS (SELECT 1 FROM note WHERE note.seq = d.seq AND road = 2 AND what = 'suppressed')
      AND NOT EXISTS (SELECT 1 FROM note WHERE note.seq = d.seq AND road = 2 AND what = 'sent') THEN 'suppressed'
    WHEN EXISTS (SELECT 1 FROM note m WHERE m.seq = d.seq AND m.road = 2 AND m.what = 'not delivered' AND NOT EXISTS
        (SELECT 1 FROM note s WHERE s.seq = d.seq AND s.road = 2 AND s.what = 'sent' AND s.at > m.at)) THEN 'undelivered'
    ELSE CASE (SELECT what FROM note WHERE note.seq = d.seq AND road = 2
        AND what IN ('send failed', 'sent', 'suppressed', 'not sent', 'dead') ORDER BY n DESC LIMIT 1)
      WHEN 'send failed' THEN 'replying' WHEN 'dead' THEN 'undelivered' ELSE outcome END
    END AS outcome
  FROM dispatched d;

-- The route of each message: that of its job or dead letter, or of its last attempt; null if there
-- is none.
CREATE TEMP VIEW routed AS SELECT j.seq, coalesce(
    (SELECT job.grp FROM queue q JOIN job ON job.queue = q.id AND job.id = j.id WHERE q.name = 'dispatch'),
    (SELECT d.grp FROM dead d JOIN queue q ON q.id = d.queue WHERE d.id = j.id AND q.name = 'dispatch'),
    (SELECT detail ->> '$.route' FROM note WHERE note.seq = j.seq AND road = 0 AND detail ->> '$.route' IS NOT NULL
      ORDER BY n DESC LIMIT 1)) AS route
  FROM journal j;
