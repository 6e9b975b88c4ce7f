-- Positions of erased events after the oldest event of their topic. They cannot be read, so counts
-- of unread events leave them out. Events that were erased before this version have no row.
CREATE TABLE erased (topic INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (topic, position)) WITHOUT ROWID;
