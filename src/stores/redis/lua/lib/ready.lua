-- Messages that nobody has taken yet, as runs of consecutive positions of one gateway, so that a
-- message needs no entry of its own:
--   ready:<gateway>   zset of the first position of each run, scored by its last
--   ready             hash: per gateway, the number of positions in its runs

-- Adds a run after all others of its gateway, and joins it with the last one if it continues that
-- one.
local function add_ready(gateway, first, last)
  local key = root .. 'ready:' .. gateway
  local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local start = tonumber(newest[2]) == first - 1 and newest[1] or first
  redis.call('ZADD', key, last, start)
  redis.call('HINCRBY', root .. 'ready', gateway, last - first + 1)
end

-- First and last position of the run that contains a position, or nil.
local function ready_run(gateway, position)
  local found = redis.call('ZRANGEBYSCORE', root .. 'ready:' .. gateway, position, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local first, last = tonumber(found[1]), tonumber(found[2])
  if first and first <= tonumber(position) then return first, last end
end

local function oldest_ready(gateway)
  return tonumber(redis.call('ZRANGE', root .. 'ready:' .. gateway, 0, 0)[1])
end

-- Returns false if no run contains the position.
local function remove_ready(gateway, position)
  local first, last = ready_run(gateway, position)
  if not first then return false end
  local key, place = root .. 'ready:' .. gateway, tonumber(position)
  if place > first then redis.call('ZADD', key, place - 1, first) else redis.call('ZREM', key, first) end
  if place < last then redis.call('ZADD', key, last, place + 1) end
  redis.call('HINCRBY', root .. 'ready', gateway, -1)
  return true
end
