-- Messages available on the receive road (needs log.lua, notes.lua and ready.lua). Keys:
--   ready:<gateway>         runs of positions, see ready.lua
--   receive:<gateway>       stream whose entry ids are positions in the journal
--   receive-back:<gateway>  zset of positions whose lease ended
--   conversation:<digest>   list of available positions, for messages with a conversation
--   receive-leases          zset of receipts `<position>.<token>` by expiry
--   receive-holders         zset of the same receipts by position
--   taken                   hash: per gateway, when a message was last taken (accurate to the hour)
--   lost, lost-told         hashes: per gateway, how many messages were removed unread, and how
--                           many of these were reported
-- Until it is consumed, a position is in exactly one of: `ready`, `receive`, `receive-back`, the
-- leases.

-- The older of two positions; either may be nil.
local function older(a, b)
  return a and b and math.min(a, b) or a or b
end

-- The oldest available position of one gateway, or of all if `gateway` is empty; and its gateway.
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

-- Whether a message can be taken.
local function is_available(gateway, position)
  local id = position .. '-0'
  if ready_run(gateway, position) or redis.call('ZSCORE', root .. 'receive-back:' .. gateway, position) then return true end
  return #redis.call('XRANGE', root .. 'receive:' .. gateway, id, id) > 0
end

-- Returns whether the position was available.
local function make_unavailable(gateway, conversation, position)
  local was_available = remove_ready(gateway, position)
    or redis.call('XDEL', root .. 'receive:' .. gateway, position .. '-0') == 1
    or redis.call('ZREM', root .. 'receive-back:' .. gateway, position) == 1
  if was_available and conversation ~= '' then
    redis.call('LREM', root .. 'conversation:' .. conversation, 1, position)
  end
  return was_available
end

-- The number of lost messages that were not reported yet. Also records that a consumer takes from
-- this gateway.
local function unreported(gateway)
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

-- Ends a lease and returns its position.
local function end_lease(receipt)
  redis.call('ZREM', root .. 'receive-leases', receipt)
  redis.call('ZREM', root .. 'receive-holders', receipt)
  return tonumber(string.match(receipt, '^(%d+)%.'))
end
