-- include: groups
-- Removes a consumer group and all that it remembers.
--
-- ARGV[3]  group
-- Returns  1, or 0 where there is none
local keys = keys_of(ARGV[3])
redis.call('UNLINK', keys.hidden, keys.back, keys.ahead)
redis.call('SREM', root .. 'odd', ARGV[3])
return redis.call('HDEL', root .. 'groups', ARGV[3])
