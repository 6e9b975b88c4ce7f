-- include: log notes
-- Adds notes to the history of one message, where it is still retained.
--
-- ARGV[3…5]  position, time and tail of the message's id
-- ARGV[6]    notes as JSON, joined by line feeds
-- Returns    1, or 0 where there is no such message
if not entry_with_id(ARGV[3], ARGV[4], ARGV[5]) then return 0 end
add_notes(ARGV[3], ARGV[6])
return 1
