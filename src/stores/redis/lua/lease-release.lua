-- Ends a lease, where this owner holds it. The token stays, so that the next one is higher.
--
-- ARGV[3]  name    ARGV[4]  owner
local key = root .. 'lease:' .. ARGV[3]
if redis.call('HGET', key, 'o') == ARGV[4] then redis.call('HDEL', key, 'o', 'x') end
return 1
