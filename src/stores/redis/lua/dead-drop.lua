-- Removes a dead letter for good.
--
-- ARGV[3]  id
-- Returns  1, or 0 where there is none
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local base = root .. 'jobs:' .. queue .. ':'
  if redis.call('DEL', base .. 'dead:' .. ARGV[3]) == 1 then return redis.call('ZREM', base .. 'dead', ARGV[3]) end
end
return 0
