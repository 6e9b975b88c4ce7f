-- Messages that a taker chose by what is in them, before older ones of their conversation: those after the cursors that are
-- taken all the same.
CREATE TABLE taken_ahead (gateway INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (gateway, seq)) WITHOUT ROWID;
-- How often an event was delivered to a group under a lease, where that is counted.
ALTER TABLE pending ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0;
