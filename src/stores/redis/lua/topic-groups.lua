-- include: log groups
-- The consumer groups of a topic.
--
-- ARGV[3]  the operation, followed by its arguments:
--          `list`  Returns {name, number of unread events, number of leased or returned events,
--                  number of those that are visible} per group
--          `subscribe` group, `now` or `start`. Returns 1 if it was created, else 0
--          `unsubscribe` group. Returns 1, or 0 if there is no such group
--          `seek` group, `now` or `start`, topic. Returns 1, or 0 if there is no such group
--          `skip` group, position. Consumes all events up to it. Returns 1, or 0 if there is no such
--          group
--          `consumed`  Returns each group and the next position that it reads, as a flat list
--          `unread` group, position, position. Returns how many positions after the first, up to
--          the second, are neither consumed nor erased; false if there is no such group
--          `erased` position, position. Returns how many positions after the first, up to the
--          second, are erased
--          `redelivered` group, most. Returns 1 if there are more positions with a round than `most`,
--          else 0, then each round and how many of them are not consumed; false if there is no such
--          group
--          `round` group. Returns the round of the events that have none of their own; false if
--          there is no such group
--          `expire` age in ms. Removes groups that were unused for longer. Returns the number of
--          remaining groups
local what, group = ARGV[3], ARGV[4]

local function remove(name)
  local keys = keys_of(name)
  redis.call('UNLINK', keys.hidden, keys.back, keys.ahead, keys.missed, keys.deliveries, keys.rounds)
  redis.call('SREM', root .. 'odd', name)
  redis.call('ZREM', root .. 'used', name)
  return redis.call('HDEL', root .. 'groups', name)
end

local function place()
  return ARGV[5] == 'now' and last_position() + 1 or first_position()
end

local function subscribe()
  touch({ group })
  if redis.call('HEXISTS', root .. 'groups', group) == 1 then return 0 end
  local to = place()
  begin_round(keys_of(group))
  redis.call('HSET', root .. 'groups', group, to)
  return 1
end

-- Commands that can fail come before the first relevant write. The other keys of the group are
-- removed once the group has its new position.
local function seek()
  if redis.call('HEXISTS', root .. 'groups', group) == 0 then return 0 end
  local keys = keys_of(group)
  local to = place()
  redis.call('SISMEMBER', root .. 'odd', group)
  touch({ group })
  begin_round(keys)
  redis.call('HSET', root .. 'groups', group, to)
  redis.call('UNLINK', keys.hidden, keys.back, keys.ahead, keys.missed, keys.deliveries)
  redis.call('SREM', root .. 'odd', group)
  signal({ 'topic:' .. ARGV[6] })
  return 1
end

local function forget_before(key, position)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local number = tonumber(field)
    if number and number < position then redis.call('HDEL', key, field) end
  end
end

local function skip()
  local next_position = tonumber(redis.call('HGET', root .. 'groups', group) or nil)
  if not next_position then return 0 end
  local keys, to = keys_of(group), math.min(tonumber(ARGV[5]), last_position()) + 1
  touch({ group })
  redis.call('HSET', root .. 'groups', group, math.max(next_position, to))
  for _, position in ipairs(redis.call('ZRANGE', keys.hidden, 0, -1)) do
    if tonumber(position) < to then redis.call('ZREM', keys.hidden, position) end
  end
  for _, key in ipairs({ keys.back, keys.ahead }) do redis.call('ZREMRANGEBYSCORE', key, '-inf', to - 1) end
  for _, key in ipairs({ keys.deliveries, keys.rounds }) do forget_before(key, to) end
  redis.call('DEL', keys.missed)
  tidy(group, keys)
  return 1
end

-- Number of erased positions from `from` to `to` that are not in `ahead`.
local function count_erased(from, to, ahead)
  local few, other = root .. 'erased', ahead
  local count = redis.call('ZCOUNT', few, from, to)
  local known = count > 0 and redis.call('ZCOUNT', ahead, from, to) or 0
  if known == 0 then return count end
  local least = math.min(count, known)
  if known < count then few, other = other, few end
  for offset = 0, least - 1, 1000 do
    local some = redis.call('ZRANGEBYSCORE', few, from, to, 'LIMIT', offset, 1000)
    for _, score in ipairs(redis.call('ZMSCORE', other, unpack(some))) do
      if score then count = count - 1 end
    end
  end
  return count
end

-- Hidden positions from the next one on are in `ahead` too. They are counted only as hidden ones.
local function unread()
  local next_position = tonumber(redis.call('HGET', root .. 'groups', group) or nil)
  if not next_position then return false end
  local keys = keys_of(group)
  local after, last = tonumber(ARGV[5]), math.min(tonumber(ARGV[6]), last_position())
  local from = math.max(after + 1, next_position)
  local found = math.max(0, last + 1 - from)
  if found > 0 then
    found = found - redis.call('ZCOUNT', keys.ahead, from, last) - count_erased(from, last, keys.ahead)
  end
  found = found + redis.call('ZCOUNT', keys.back, '(' .. after, last)
  for _, text in ipairs(redis.call('ZRANGE', keys.hidden, 0, -1)) do
    local position = tonumber(text)
    if position > after and position <= last then found = found + 1 end
  end
  return found
end

-- Negative rounds are of events that the group had to read anyway.
local function redelivered()
  if redis.call('HEXISTS', root .. 'groups', group) == 0 then return false end
  local rounds, most = keys_of(group).rounds, tonumber(ARGV[5])
  local counts, seen, cursor = {}, 0, '0'
  repeat
    local page = redis.call('HSCAN', rounds, cursor, 'COUNT', 1000)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      local round = page[2][i + 1]
      if page[2][i] ~= 'all' then
        seen = seen + 1
        if tonumber(round) > 0 then counts[round] = (counts[round] or 0) + 1 end
      end
    end
  until cursor == '0' or seen > most
  local answer = { cursor == '0' and 0 or 1 }
  for round, count in pairs(counts) do
    answer[#answer + 1] = tonumber(round)
    answer[#answer + 1] = count
  end
  return answer
end

local function round_of_all()
  if redis.call('HEXISTS', root .. 'groups', group) == 0 then return false end
  return tonumber(redis.call('HGET', keys_of(group).rounds, 'all') or 0)
end

if what == 'round' then return round_of_all() end
if what == 'redelivered' then return redelivered() end
if what == 'unread' then return unread() end
if what == 'consumed' then return redis.call('HGETALL', root .. 'groups') end
if what == 'erased' then return redis.call('ZCOUNT', root .. 'erased', '(' .. ARGV[4], ARGV[5]) end
if what == 'subscribe' then return subscribe() end
if what == 'unsubscribe' then return remove(group) end
if what == 'seek' then return seek() end
if what == 'skip' then return skip() end
if what == 'expire' then
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', root .. 'used', '-inf', '(' .. now - group)) do remove(each) end
  return redis.call('HLEN', root .. 'groups')
end

-- Removed and erased events are not unread.
local first, infos = first_position(), {}
local groups = redis.call('HGETALL', root .. 'groups')
for i = 1, #groups, 2 do
  local keys = keys_of(groups[i])
  local back = redis.call('ZCARD', keys.back)
  local pending = redis.call('ZCARD', keys.hidden) + back
  local again = redis.call('ZCOUNT', keys.hidden, '-inf', now) + back
  local from = math.max(first, tonumber(groups[i + 1]))
  local lag = last_position() + 1 - from - redis.call('ZCOUNT', keys.ahead, from, '+inf')
  lag = lag - count_erased(from, '+inf', keys.ahead)
  infos[#infos + 1] = { groups[i], math.max(0, lag), pending, again }
end
return infos
