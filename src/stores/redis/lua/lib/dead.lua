-- Dead letters (needs log.lua and lanes.lua): below `jobs:<queue>:`
--   dead         zset of ids by when they died;   dead:<id>  hash: the fields of the job, y reason,
--                z when (ms), and the message itself as h and p, as in log.lua
local function bury(queue, id, reason)
  local key, grave = queue.base .. 'job:' .. id, queue.base .. 'dead:' .. id
  local fields = redis.call('HGETALL', key)
  redis.call('DEL', grave)
  redis.call('HSET', grave, 'y', reason, 'z', now, unpack(fields))
  local position = redis.call('HGET', grave, 'v')
  local found = position and entry_at(position)
  if found then redis.call('HSET', grave, unpack(found[2])) end
  redis.call('ZADD', queue.base .. 'dead', now, id)
end
