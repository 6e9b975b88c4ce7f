-- The first run of a dead letter that was retried, as JSON: `at`, when it died; `errors`, its
-- attempts; `retriedAt`, the last retry (all times Unix ms). Null if it was not retried.
ALTER TABLE job ADD COLUMN first_run TEXT;
ALTER TABLE dead ADD COLUMN first_run TEXT;
