-- include: log notes ready available
-- The messages and jobs that have waited longest. Writes nothing. Costs a few calls per gateway,
-- examined job and message.
--
-- ARGV[3]  number of oldest jobs to examine per queue
-- ARGV[4]  number of messages to examine after the dispatch cursor
-- Returns  {messages, jobs}. Per message {road, gateway, time of the id}. Per unclaimed job {queue,
--          lane, id, when it was retried as a dead letter or empty, when it is due or empty, `1` if
--          it is held or empty}
local found = { {}, {} }
local messages, jobs = found[1], found[2]

for _, gateway in ipairs(redis.call('SMEMBERS', root .. 'gateways')) do
  local position = oldest_available(gateway)
  local entry = position and entry_at(position)
  if entry then messages[#messages + 1] = { 'receive', gateway, time_of(entry) } end
end

local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
for _, entry in ipairs(redis.call('XRANGE', root .. 'journal', (cursor + 1) .. '-0', '+', 'COUNT', ARGV[4])) do
  local gateway = origin_of(entry)
  messages[#messages + 1] = { 'dispatch', gateway, time_of(entry) }
end

for _, name in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local base = root .. 'jobs:' .. name .. ':'
  for _, id in ipairs(redis.call('ZRANGE', base .. 'all', 0, ARGV[3] - 1)) do
    local job = not redis.call('ZSCORE', base .. 'claims', id) and redis.call('HMGET', base .. 'job:' .. id, 'l', 'q', 'f')
    if job and job[1] then
      local due = redis.call('ZSCORE', base .. 'delayed', id) or (tonumber(job[3] or 0) > 0 and now)
      local held = redis.call('ZSCORE', base .. 'held', id) and '1' or ''
      jobs[#jobs + 1] = { name, job[1], id, job[2] or '', due and tostring(due) or '', held }
    end
  end
end
return found
