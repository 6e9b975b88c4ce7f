-- Dead letters (needs log.lua and lanes.lua): below `jobs:<queue>:`
--   dead         zset of ids by when they died;   dead:<id>  hash: the fields of the job, y reason,
--                z when (ms), and the message itself as t r o w p (w: its gateway)
local function bury(queue, id, reason)
  local key, grave = queue.base .. 'job:' .. id, queue.base .. 'dead:' .. id
  local fields = redis.call('HGETALL', key)
  redis.call('DEL', grave)
  redis.call('HSET', grave, 'y', reason, 'z', now, unpack(fields))
  local position = redis.call('HGET', grave, 'v')
  local found = position and entry_at(position)
  if found then
    local values = found[2]
    redis.call('HSET', grave, 't', values[2], 'r', values[4], 'o', values[6], 'w', values[8], 'p', values[12])
  end
  redis.call('ZADD', queue.base .. 'dead', now, id)
end
