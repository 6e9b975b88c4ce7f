-- Takes, renews or ends a lease.
--
-- ARGV[3]  name    ARGV[4]  owner    ARGV[5]  ttl in ms, or 0 to end it
-- Returns  the fencing token, or false where another holds it
-- Guarantees: the token grows with every new holder, and stays above older ones even where Redis lost
--          its last writes, because it is never below the time.
local key = root .. 'lease:' .. ARGV[3]
local lease = redis.call('HMGET', key, 'o', 'x', 't')
local token = tonumber(lease[3] or 0)
local held = lease[1] and tonumber(lease[2]) > now
if held and lease[1] ~= ARGV[4] then return false end
if ARGV[5] == '0' then
  if held then redis.call('HDEL', key, 'o', 'x') end
  return token
end
if not held then token = math.max(token + 1, now) end
redis.call('HSET', key, 'o', ARGV[4], 'x', now + ARGV[5], 't', token)
return token
