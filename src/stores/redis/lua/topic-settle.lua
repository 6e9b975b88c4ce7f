-- include: log groups latest
-- Consumes events of a group, or returns them to the group at their place, now or after a delay.
--
-- ARGV[3]   group
-- ARGV[4]   empty to consume; otherwise the topic
-- ARGV[5]   delay in ms after which returned events are visible
-- ARGV[6]   empty, or one of
--           `read` (to consume): the caller has read these events here, so only the newest must be
--           checked for its id
--           `extend`: only events whose lease has not expired; the delay is their new lease
--           `restore`: makes consumed events visible again, in a new round. If the group still had
--           to read an event anyway, its round is negative
--           `withdraw` (to consume): undoes `restore` for events of a round that are not leased
-- ARGV[7]   to consume: empty, or the round in which the events were read; others are not consumed.
--           To restore: the new round; to withdraw: that round
-- ARGV[8…]  per event, oldest first: position, time and tail of its id, separated by spaces. With
--           position 0, the tail is a number of missed events that a peek reported, to acknowledge
-- Returns   the number of events to which it applied
-- Guarantees: an event is consumed once; idempotent.
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
-- Arguments for `ahead`: each position twice, as score and as member.
local later = {}

local counts = redis.call('EXISTS', keys.deliveries) == 1
local round = ARGV[7]
local round_of_all = redis.call('HGET', keys.rounds, 'all') or '0'
-- Whether some events have a round of their own.
local differ = redis.call('HLEN', keys.rounds) > 1

local function is_redelivered(position)
  return round ~= '' and (differ and redis.call('HGET', keys.rounds, position) or round_of_all) ~= round
end

local function consume(position)
  if is_redelivered(position) then return false end
  if differ then redis.call('HDEL', keys.rounds, position) end
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

local function is_leased(position)
  return tonumber(redis.call('ZSCORE', keys.hidden, position) or 0) > now
end

-- An event that the group had to read anyway only gets back the round of the group.
local function withdraw(position)
  if redis.call('HGET', keys.rounds, position) == '-' .. round then redis.call('HDEL', keys.rounds, position) end
  return not is_leased(position) and consume(position)
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

-- Advances past removed events at the next position; the next read reports them as missed.
local function pass_gone()
  local first = redis.call('XRANGE', root .. 'journal', next_position .. '-0', '+', 'COUNT', 1)[1]
  local stop = first and position_of(first[1]) or last + 1
  if stop <= next_position then return false end
  local known = redis.call('ZREMRANGEBYSCORE', keys.ahead, next_position, stop - 1)
  redis.call('INCRBY', keys.missed, stop - next_position - known)
  next_position = stop
  return true
end

-- Advances past positions in `ahead`. A hidden one is still in `hidden`, so it is not lost.
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

local function forgive(reported)
  pass()
  local missed = tonumber(redis.call('GET', keys.missed) or 0)
  redis.call('DEL', keys.missed)
  if missed > reported then redis.call('SET', keys.missed, missed - reported) end
  return missed > 0
end

local function parts_of(text)
  return string.match(text, '(%d+) (%d+) (%d+)')
end

-- Whether an event was removed after it was read; it does not count as missed.
local function is_gone(position)
  return position and topic == '' and not entry_at(position)
end

local function extend(position)
  local hidden_until = tonumber(redis.call('ZSCORE', keys.hidden, position) or nil)
  return hidden_until ~= nil and hidden_until > now and give_back(position)
end

local function is_waiting(position)
  if redis.call('ZSCORE', keys.hidden, position) or redis.call('ZSCORE', keys.back, position) then return true end
  return is_unread(position) and not redis.call('ZSCORE', keys.ahead, position)
end

local function restore(position)
  redis.call('HDEL', keys.deliveries, position)
  if position > last then return false end
  local before = tonumber(redis.call('HGET', keys.rounds, position) or 0)
  local is_own = before <= 0 and is_waiting(position)
  redis.call('HSET', keys.rounds, position, (is_own and '-' or '') .. round)
  show(keys, position, next_position)
  return true
end

local reported = {}
local settle, count = topic == '' and consume or give_back, 0
if ARGV[6] == 'extend' then settle = extend elseif ARGV[6] == 'restore' then settle = restore end
if ARGV[6] == 'withdraw' then settle = withdraw end
local is_known = ARGV[6] == 'read' and entry_with_id(parts_of(ARGV[#ARGV]))
for i = 8, #ARGV do
  local position, time, tail = parts_of(ARGV[i])
  if position == '0' then
    reported[#reported + 1] = tonumber(tail)
  elseif (is_known or entry_with_id(position, time, tail) or is_gone(position)) and settle(tonumber(position)) then
    count = count + 1
  end
end
if topic == '' then
  if #later > 0 then count = count + redis.call('ZADD', keys.ahead, unpack(later)) end
  pass()
  for _, missed in ipairs(reported) do
    if missed > 0 and forgive(missed) then count = count + 1 end
  end
  if next_position > begun then redis.call('HSET', root .. 'groups', group, next_position) end
elseif count > 0 then
  signal({ 'topic:' .. topic })
end
redis.call('SADD', root .. 'odd', group)
tidy(group, keys)
return count
