-- include: log groups latest
-- Consumes events of a group, or gives them back to be visible at their old place, now or later.
--
-- ARGV[3]  group    ARGV[4]  empty to consume; to give back: topic    ARGV[5]  delay in ms
-- ARGV[6]  `read` where the caller read them here: a log that has the newest of them has the others; `extend`, with a topic and a
--          delay, for those alone whose lease has not run out; `restore`, with a topic: shows what was consumed once more; or empty
-- ARGV[7…]  per event position, time and tail of its id, with a space between; the oldest first, so that most need not be noted
--          position 0: the tail is how many missed events a peek told of; they are told no more
-- Returns  how many were consumed or given back
-- Guarantees: an event is consumed once; repeating changes nothing.
if tonumber(ARGV[5]) > 0 then note_clock() end
local group, topic, delay = ARGV[3], ARGV[4], tonumber(ARGV[5])
local keys = keys_of(group)
local next_position = tonumber(redis.call('HGET', root .. 'groups', group) or nil)
if not next_position then return 0 end
local begun, last = next_position, last_position()

local function is_unread(position)
  return position >= next_position and position <= last
end

local holds = redis.call('EXISTS', keys.hidden, keys.back) > 0
local skips = redis.call('EXISTS', keys.ahead) > 0
-- To be noted in `ahead`, each twice: as score and as member.
local later = {}

local counts = redis.call('EXISTS', keys.deliveries) == 1

local function consume(position)
  if counts then redis.call('HDEL', keys.deliveries, position) end
  if holds and redis.call('ZREM', keys.hidden, position) + redis.call('ZREM', keys.back, position) > 0 then return true end
  if not is_unread(position) then return false end
  if position == next_position and not (skips and redis.call('ZSCORE', keys.ahead, position)) then
    next_position = position + 1
    return true
  end
  later[#later + 1] = position
  later[#later + 1] = position
  return false
end

local function give_back(position)
  local held = redis.call('ZSCORE', keys.hidden, position) or redis.call('ZSCORE', keys.back, position)
  if not held then
    if not is_unread(position) or redis.call('ZSCORE', keys.ahead, position) then return false end
    if delay <= 0 then return true end
    redis.call('ZADD', keys.ahead, position, position)
  end
  if delay > 0 then
    redis.call('ZREM', keys.back, position)
    redis.call('ZADD', keys.hidden, now + delay, position)
  else
    show(keys, position, next_position)
  end
  return true
end

-- Passes what is gone from the next position on; the next read tells of it.
local function pass_gone()
  local first = redis.call('XRANGE', root .. 'journal', next_position .. '-0', '+', 'COUNT', 1)[1]
  local stop = first and position_of(first[1]) or last + 1
  if stop <= next_position then return false end
  local known = redis.call('ZREMRANGEBYSCORE', keys.ahead, next_position, stop - 1)
  redis.call('INCRBY', keys.missed, stop - next_position - known)
  next_position = stop
  return true
end

-- A hidden one stays in `ahead` until it is passed; `hidden` keeps it from being lost.
local function pass()
  repeat
    local from = next_position
    for _, text in ipairs(redis.call('ZRANGEBYSCORE', keys.ahead, from, '+inf', 'LIMIT', 0, 1000)) do
      if tonumber(text) ~= next_position then break end
      next_position = next_position + 1
    end
    redis.call('ZREMRANGEBYSCORE', keys.ahead, from, next_position - 1)
  until next_position == from and not pass_gone()
end

local function forgive(told)
  pass()
  local missed = tonumber(redis.call('GET', keys.missed) or 0)
  redis.call('DEL', keys.missed)
  if missed > told then redis.call('SET', keys.missed, missed - told) end
  return missed > 0
end

local function parts_of(text)
  return string.match(text, '(%d+) (%d+) (%d+)')
end

-- What was read and is gone by now was not missed.
local function is_gone(position)
  return position and topic == '' and not entry_at(position)
end

local function extend(position)
  local hidden_until = tonumber(redis.call('ZSCORE', keys.hidden, position) or nil)
  return hidden_until ~= nil and hidden_until > now and give_back(position)
end

local function restore(position)
  redis.call('HDEL', keys.deliveries, position)
  if position > last then return false end
  show(keys, position, next_position)
  return true
end

local told = {}
local settle, count = topic == '' and consume or give_back, 0
if ARGV[6] == 'extend' then settle = extend elseif ARGV[6] == 'restore' then settle = restore end
local is_known = ARGV[6] == 'read' and entry_with_id(parts_of(ARGV[#ARGV]))
for i = 7, #ARGV do
  local position, time, tail = parts_of(ARGV[i])
  if position == '0' then
    told[#told + 1] = tonumber(tail)
  elseif (is_known or entry_with_id(position, time, tail) or is_gone(position)) and settle(tonumber(position)) then
    count = count + 1
  end
end
if topic == '' then
  if #later > 0 then count = count + redis.call('ZADD', keys.ahead, unpack(later)) end
  pass()
  for _, missed in ipairs(told) do
    if missed > 0 and forgive(missed) then count = count + 1 end
  end
  if next_position > begun then redis.call('HSET', root .. 'groups', group, next_position) end
elseif count > 0 then
  signal({ 'topic:' .. topic })
end
redis.call('SADD', root .. 'odd', group)
tidy(group, keys)
return count
