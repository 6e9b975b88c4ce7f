-- Takes or renews a lease.
--
-- ARGV[3]  name    ARGV[4]  owner    ARGV[5]  ttl in ms
-- Returns  the fencing token, or false where another holds it
-- Guarantees: the token grows with every new holder, and stays above older ones even where Redis lost
--          its last writes, because it is never below the time.
local key = root .. 'lease:' .. ARGV[3]
local lease = redis.call('HMGET', key, 'o', 'x', 't')
local token = tonumber(lease[3] or 0)
if lease[1] and tonumber(lease[2]) > now then
  if lease[1] ~= ARGV[4] then return false end
else
  token = math.max(token + 1, now)
end
redis.call('HSET', key, 'o', ARGV[4], 'x', now + ARGV[5], 't', token)
return token
