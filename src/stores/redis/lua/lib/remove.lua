-- Removes a job from its queue and lane, even if it is claimed. Needs lanes. Returns false if there
-- is no such job.
local function remove_job(queue, id)
  local base = queue.base
  local job = redis.call('HMGET', base .. 'job:' .. id, 'l', 'g')
  local lane, group = job[1], job[2]
  if not lane then return false end
  for _, key in ipairs({ 'ready:' .. group, 'delayed', 'claims', 'held' }) do remove_later(queue, base .. key, id) end
  if redis.call('LINDEX', base .. 'lane:' .. lane, 0) == id then
    leave_lane(queue, id, lane, group)
  else
    redis.call('DEL', base .. 'job:' .. id)
    redis.call('LREM', base .. 'lane:' .. lane, 1, id)
    remove_later(queue, base .. 'all', id)
    remove_later(queue, root .. 'needs', queue.name .. ' ' .. id)
  end
  flush(queue)
  signal({ 'jobs:' .. queue.name })
  return true
end
