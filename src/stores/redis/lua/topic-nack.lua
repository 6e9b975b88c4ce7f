-- include: log groups
-- Gives events of a group back, to be visible at their old place, now or later.
--
-- ARGV[3]  group    ARGV[4]  topic    ARGV[5]  delay in ms
-- ARGV[6…]  per event three values: position, time and tail of its id
-- Returns  how many were given back; false where there is no such group
local group, delay = ARGV[3], tonumber(ARGV[5])
local keys = keys_of(group)
local next_position = tonumber(redis.call('HGET', root .. 'groups', group) or nil)
if not next_position then return false end
local last = last_position()

local function hide(position)
  redis.call('ZREM', keys.back, position)
  redis.call('ZADD', keys.hidden, now + delay, position)
end

local function give_back(position)
  local held = redis.call('ZSCORE', keys.hidden, position) or redis.call('ZSCORE', keys.back, position)
  if not held then
    if position < next_position or position > last then return false end
    if redis.call('ZSCORE', keys.ahead, position) then return false end
    if delay <= 0 then return true end
    redis.call('ZADD', keys.ahead, position, position)
  end
  if delay > 0 then hide(position) else show(keys, position, next_position) end
  return true
end

local count = 0
for i = 6, #ARGV, 3 do
  if entry_with_id(ARGV[i], ARGV[i + 1], ARGV[i + 2]) and give_back(tonumber(ARGV[i])) then count = count + 1 end
end
redis.call('SADD', root .. 'odd', group)
tidy(group, keys)
if count > 0 then signal({ 'topic:' .. ARGV[4] }) end
return count
