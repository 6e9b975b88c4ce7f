-- Makes the dead letter of a job, as dead.lua describes it. The job stays, with its place in the
-- lane. Needs log and lanes. `at`: the time of death, now by default.
local function bury(queue, id, reason, at)
  at = at or now
  local base = queue.base
  local key, grave = base .. 'job:' .. id, base .. 'dead:' .. id
  local fields = redis.call('HGETALL', key)
  redis.call('DEL', grave)
  redis.call('HSET', grave, 'y', reason, 'z', at, unpack(fields))
  local position = redis.call('HGET', grave, 'v')
  local found = position and entry_at(position)
  if found then redis.call('HSET', grave, unpack(found[2])) end
  redis.call('ZADD', base .. 'dead', at, id)
end
