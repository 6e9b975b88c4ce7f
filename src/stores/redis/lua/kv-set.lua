-- Writes a key.
--
-- ARGV[3]  key    ARGV[4]  value as JSON    ARGV[5]  ttl in ms or empty    ARGV[6]  expected version or empty
-- Returns  the new version, or false where the key has another than the expected one
-- Guarantees: versions come from one counter, so none comes back after a delete. Keys stand in the index
--          until list or delete takes them out.
local key = root .. 'value:' .. ARGV[3]
local found = redis.call('HMGET', key, 'n', 'x')
local version = found[1]
if not version or (found[2] and tonumber(found[2]) <= now) then version = '0' end
if ARGV[6] ~= '' and ARGV[6] ~= version then return false end
local new = redis.call('INCR', root .. 'version')
redis.call('DEL', key)
if ARGV[5] == '' then
  redis.call('HSET', key, 'n', new, 'v', ARGV[4])
else
  redis.call('HSET', key, 'n', new, 'v', ARGV[4], 'x', now + ARGV[5])
  redis.call('PEXPIRE', key, ARGV[5])
end
redis.call('ZADD', root .. 'index', 0, ARGV[3])
signal({ 'kv:' .. ARGV[3] })
return new
