-- include: log notes ready available
-- What has waited longest. Writes nothing; costs a few calls per gateway, and some for each job and message that is looked at.
--
-- ARGV[3]  how many of the oldest jobs of a queue    ARGV[4]  how many messages that dispatch has not seen
-- Returns  {road, gateway, time of its id} for messages, and {queue, lane, id} for jobs that nobody has claimed
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
    local lane = not redis.call('ZSCORE', base .. 'claims', id) and redis.call('HGET', base .. 'job:' .. id, 'l')
    if lane then
      jobs[#jobs + 1] = { name, lane, id }
    end
  end
end
return found
