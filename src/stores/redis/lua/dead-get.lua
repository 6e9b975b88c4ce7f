-- Reads one dead letter, whatever its queue. Writes nothing.
--
-- ARGV[3]  id
-- Returns  {queue, id, fields as a flat list}, or false
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local fields = redis.call('HGETALL', root .. 'jobs:' .. queue .. ':dead:' .. ARGV[3])
  if #fields > 0 then return { queue, ARGV[3], fields } end
end
return false
