-- What may be taken from `receive` (needs log.lua, notes.lua and ready.lua):
--   ready:<gateway>         runs of positions, see ready.lua
--   receive:<gateway>       stream of references with the positions of the journal
--   receive-back:<gateway>  zset of positions that came back from a lease
--   conversation:<digest>   list of positions, for messages with a conversation of their transport's
--   receive-leases          zset of receipts `<position>.<token>` by expiry
--   receive-holders         zset of the same receipts by position
--   taken                   hash of gateways to when a message was last taken, to the hour
--   lost, lost-told         hashes of gateways to how many were removed untaken, and of how many a taker was told
-- A position is in exactly one of the first three or in the leases, or nowhere once it is consumed.

-- The older of two positions, of which either may be nil.
local function older(a, b)
  return a and b and math.min(a, b) or a or b
end

-- The oldest position of one gateway, or of all where it is empty; and its gateway.
local function oldest_available(gateway)
  local oldest, its_gateway
  for _, name in ipairs(gateway ~= '' and { gateway } or redis.call('SMEMBERS', root .. 'gateways')) do
    local first = redis.call('XRANGE', root .. 'receive:' .. name, '-', '+', 'COUNT', 1)[1]
    local back = tonumber(redis.call('ZRANGE', root .. 'receive-back:' .. name, 0, 0)[1])
    local position = older(older(first and position_of(first[1]), back), oldest_ready(name))
    if position and (not oldest or position < oldest) then oldest, its_gateway = position, name end
  end
  return oldest, its_gateway
end

local function make_unavailable(gateway, conversation, position)
  local there = remove_ready(gateway, position)
    or redis.call('XDEL', root .. 'receive:' .. gateway, position .. '-0') == 1
    or redis.call('ZREM', root .. 'receive-back:' .. gateway, position) == 1
  if there and conversation ~= '' then
    redis.call('LREM', root .. 'conversation:' .. conversation, 1, position)
  end
  return there
end

-- How many were lost since a taker was told; notes that somebody takes.
local function untold(gateway)
  if now - (redis.call('HGET', root .. 'taken', gateway) or 0) > 3600000 then
    redis.call('HSET', root .. 'taken', gateway, now)
  end
  local lost = redis.call('HGET', root .. 'lost', gateway)
  local missed = lost and lost - (redis.call('HGET', root .. 'lost-told', gateway) or 0) or 0
  if missed > 0 then redis.call('HSET', root .. 'lost-told', gateway, lost) end
  return missed
end

local function give_back(position)
  local found = entry_at(position)
  if not found then return end
  local gateway, conversation = origin_of(found)
  redis.call('ZADD', root .. 'receive-back:' .. gateway, position, position)
  if conversation ~= '' then
    local list = root .. 'conversation:' .. conversation
    redis.call('RPUSH', list, position)
    redis.call('SORT', list, 'STORE', list)
  end
end

-- Ends a lease; returns the position that it was for.
local function end_lease(receipt)
  redis.call('ZREM', root .. 'receive-leases', receipt)
  redis.call('ZREM', root .. 'receive-holders', receipt)
  return tonumber(string.match(receipt, '^(%d+)%.'))
end
