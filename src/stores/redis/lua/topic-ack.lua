-- include: log groups
-- Consumes events of a group.
--
-- ARGV[3]  group    ARGV[4…]  per event three values: position, time and tail of its id
-- Returns  how many were consumed; false where there is no such group
-- Guarantees: an event is consumed once; repeating changes nothing.
local group = ARGV[3]
local keys = keys_of(group)
local next_position = tonumber(redis.call('HGET', root .. 'groups', group) or nil)
if not next_position then return false end
local begun, last = next_position, last_position()

local function consume(position)
  local held = redis.call('ZREM', keys.hidden, position) + redis.call('ZREM', keys.back, position)
  if held > 0 then return true end
  if position < next_position or position > last then return false end
  return redis.call('ZADD', keys.ahead, position, position) == 1
end

local count = 0
for i = 4, #ARGV, 3 do
  if entry_with_id(ARGV[i], ARGV[i + 1], ARGV[i + 2]) and consume(tonumber(ARGV[i])) then count = count + 1 end
end
-- A hidden one stays in `ahead` until reading passes it; `hidden` keeps it from being lost.
while redis.call('ZREM', keys.ahead, next_position) == 1 do next_position = next_position + 1 end
if next_position > begun then redis.call('HSET', root .. 'groups', group, next_position) end
redis.call('SADD', root .. 'odd', group)
tidy(group, keys)
return count
