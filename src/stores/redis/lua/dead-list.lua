-- Lists dead letters, newest first. Writes nothing.
--
-- ARGV[3]  queue, or empty for all    ARGV[4]  group, or empty    ARGV[5]  how many
-- Returns  per dead letter {queue, id, fields as a flat list}
local limit = tonumber(ARGV[5])
local queues = ARGV[3] ~= '' and { ARGV[3] } or redis.call('SMEMBERS', root .. 'queues')
local found = {}

-- Goes through one queue until it has enough that match.
local function look(queue)
  local base, index, matched = root .. 'jobs:' .. queue .. ':', 0, 0
  while matched < limit do
    local slice = redis.call('ZREVRANGE', base .. 'dead', index, index + 99)
    if #slice == 0 then return end
    index = index + #slice
    for _, id in ipairs(slice) do
      local head = redis.call('HMGET', base .. 'dead:' .. id, 'g', 'z')
      if matched < limit and (ARGV[4] == '' or head[1] == ARGV[4]) then
        matched = matched + 1
        found[#found + 1] = { queue = queue, id = id, at = tonumber(head[2]), order = #found }
      end
    end
  end
end

for _, queue in ipairs(queues) do look(queue) end
table.sort(found, function(a, b)
  if a.at ~= b.at then return a.at > b.at end
  return a.order < b.order
end)
local answer = {}
for i = 1, math.min(limit, #found) do
  local each = found[i]
  answer[i] = { each.queue, each.id, redis.call('HGETALL', root .. 'jobs:' .. each.queue .. ':dead:' .. each.id) }
end
return answer
