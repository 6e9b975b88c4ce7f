-- Consumer groups of a log (needs log.lua). `groups` is a hash from the name to the position that the
-- group reads next. Only where a group deviates from plain reading is its name in the set `odd`, and some
-- of these zsets exist:
--   hidden:<group>  positions by when they become visible again (leased, or given back with a delay)
--   back:<group>    positions before the next that are visible again
--   ahead:<group>   positions from the next on that plain reading skips: acknowledged, or hidden
-- or, a number, missed:<group>: how many events before the next are gone, which is not told yet.
-- deliveries:<group> is a hash from the positions that were leased to how often, where that is counted.
-- The zset `used` has all groups by when they were last used, to the hour.
local function keys_of(group)
  local keys = {}
  for _, name in ipairs({ 'hidden', 'back', 'ahead', 'missed', 'deliveries' }) do keys[name] = root .. name .. ':' .. group end
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

-- Takes a group out of `odd` again where nothing is odd any more.
local function tidy(group, keys)
  if redis.call('EXISTS', keys.hidden, keys.back, keys.ahead, keys.missed) == 0 then redis.call('SREM', root .. 'odd', group) end
end

-- Makes a hidden position visible: plain reading comes to it, or it waits in `back`.
local function show(keys, position, next_position)
  redis.call('ZREM', keys.hidden, position)
  if tonumber(position) >= next_position then
    redis.call('ZREM', keys.ahead, position)
  else
    redis.call('ZADD', keys.back, position, position)
  end
end
