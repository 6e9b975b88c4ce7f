-- Messages after the cursors that are already taken, because a consumer chose them by content
-- before older ones of their conversation.
CREATE TABLE taken_ahead (gateway INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (gateway, seq)) WITHOUT ROWID;
-- How often an event was delivered to a group under a lease, if that is counted.
ALTER TABLE pending ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0;
