-- Reads what the pump has not seen. Writes nothing.
--
-- ARGV[3]  how many
-- Returns  the dispatch cursor and the entries after it, oldest first
local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
return { cursor, redis.call('XRANGE', root .. 'journal', (cursor + 1) .. '-0', '+', 'COUNT', ARGV[3]) }
