-- Consumer groups of a log (needs log.lua). Keys:
--   groups              hash: per group, the position that it reads next (one more than the last
--                       consumed one)
--   odd                 set of groups that do more than reading in order; only they have some of
--                       the following keys
--   hidden:<group>      zset of positions by the time at which they become visible again (leased,
--                       or returned with a delay)
--   back:<group>        zset of positions before the next one that are visible again
--   ahead:<group>       zset of positions from the next one on that reading skips: acknowledged, or
--                       hidden
--   missed:<group>      number of removed events before the next position that were not reported
--                       yet
--   deliveries:<group>  hash: per leased position, how often it was delivered, if that is counted
--   rounds:<group>      hash: `all` is the round in which the group reads, and per redelivered
--                       position its own round until it is consumed; negative if the group had
--                       not read it before
--   erased              zset of the positions of erased events after the oldest event; those that an
--                       earlier version erased are missing
--   used                zset of all groups by the time of their last use (accurate to the hour)
local function keys_of(group)
  local keys = {}
  for _, name in ipairs({ 'hidden', 'back', 'ahead', 'missed', 'deliveries', 'rounds' }) do keys[name] = root .. name .. ':' .. group end
  return keys
end

local function touch(groups)
  if #groups == 0 then return end
  local used = redis.call('ZMSCORE', root .. 'used', unpack(groups))
  for i, group in ipairs(groups) do
    if now - (used[i] or 0) > 3600000 then redis.call('ZADD', root .. 'used', now, group) end
  end
end

local function last_position()
  return tonumber(redis.call('HGET', root .. 'meta', 'end') or 0)
end

local function first_position()
  local first = redis.call('XRANGE', root .. 'journal', '-', '+', 'COUNT', 1)[1]
  return first and position_of(first[1]) or last_position() + 1
end

-- Removes a group from `odd` if it has none of these keys any more, and no event with a round of
-- its own.
local function tidy(group, keys)
  if redis.call('EXISTS', keys.hidden, keys.back, keys.ahead, keys.missed) > 0 then return end
  if redis.call('HLEN', keys.rounds) <= 1 then redis.call('SREM', root .. 'odd', group) end
end

-- Makes a hidden position visible. If the group has read past it, it is put into `back`.
local function show(keys, position, next_position)
  redis.call('ZREM', keys.hidden, position)
  if tonumber(position) >= next_position then
    redis.call('ZREM', keys.ahead, position)
  else
    redis.call('ZADD', keys.back, position, position)
  end
end

-- Begins a new round for all events of a group.
local function begin_round(keys)
  local before = tonumber(redis.call('HGET', keys.rounds, 'all') or 0)
  redis.call('DEL', keys.rounds)
  redis.call('HSET', keys.rounds, 'all', math.max(now, before + 1))
end
