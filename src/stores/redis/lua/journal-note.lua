-- include: log notes
-- Adds notes to the history of a message, where it is retained.
--
-- ARGV[3…5]  position, time and tail of its id    ARGV[6]  notes as JSON, joined by line feeds
if entry_with_id(ARGV[3], ARGV[4], ARGV[5]) then add_notes(ARGV[3], ARGV[6]) end
return 1
