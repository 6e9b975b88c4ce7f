-- Deletes a key.
--
-- ARGV[3]  key
-- Returns  1, or 0 where there is none
local key = root .. 'value:' .. ARGV[3]
local expiry = tonumber(redis.call('HGET', key, 'x') or nil)
redis.call('ZREM', root .. 'index', ARGV[3])
if redis.call('DEL', key) == 0 or (expiry and expiry <= now) then return 0 end
signal({ 'kv:' .. ARGV[3] })
return 1
