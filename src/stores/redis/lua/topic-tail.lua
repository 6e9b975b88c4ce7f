-- Reads a log from a position on, without any group. Writes nothing.
--
-- ARGV[3]  position    ARGV[4]  how many
-- Returns  the entries
return redis.call('XRANGE', root .. 'journal', ARGV[3] .. '-0', '+', 'COUNT', ARGV[4])
