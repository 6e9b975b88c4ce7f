-- Reads a key. Writes nothing.
--
-- ARGV[3]  key
-- Returns  {version, value as JSON}, or false
local found = redis.call('HMGET', root .. 'value:' .. ARGV[3], 'n', 'v', 'x')
if not found[1] or (found[3] and tonumber(found[3]) <= now) then return false end
return { found[1], found[2] }
