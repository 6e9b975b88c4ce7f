-- include: lanes
-- Puts a dead letter back at the end of its lane, with fresh attempts and with its message.
--
-- ARGV[3]  id
-- Returns  1, or 0 where there is no such dead letter or a job with its id is alive
local id = ARGV[3]

local function revive(queue)
  local base = queue.base
  if redis.call('EXISTS', base .. 'job:' .. id) == 1 then return 0 end
  redis.call('RENAME', base .. 'dead:' .. id, base .. 'job:' .. id)
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'job:' .. id, 'y', 'z', 'f', 'x', 'e', 'k')
  redis.call('HSET', base .. 'job:' .. id, 'b', now)
  local job = redis.call('HMGET', base .. 'job:' .. id, 'l', 'g', 'v')
  append_to_lane(queue, id, job[1], job[2], job[3] or '', now)
  flush(queue)
  signal({ 'jobs:' .. queue.name })
  return 1
end

for _, name in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  if redis.call('EXISTS', root .. 'jobs:' .. name .. ':dead:' .. id) == 1 then return revive(open_queue(name)) end
end
return 0
