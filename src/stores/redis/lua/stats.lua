-- include: log notes ready available
-- Counts for `stats`. Writes nothing. Costs a few calls per gateway and queue, independent of the
-- backlog.
--
-- Returns  `StoreStats` of src/core/store.ts as JSON; queues have the id of their oldest job
--          instead of a time. Without queues, `jobs` is an empty object instead of a list
local meta = redis.call('HMGET', root .. 'meta', 'end', 'cursor')
local cursor = tonumber(meta[2] or 0)

local function time_from(position)
  local first = redis.call('XRANGE', root .. 'journal', position, '+', 'COUNT', 1)[1]
  return first and time_of(first) or nil
end

local function receive()
  local ready, oldest = 0, (oldest_available(''))
  for _, gateway in ipairs(redis.call('SMEMBERS', root .. 'gateways')) do
    ready = ready + redis.call('XLEN', root .. 'receive:' .. gateway)
    ready = ready + redis.call('ZCARD', root .. 'receive-back:' .. gateway)
    ready = ready + (redis.call('HGET', root .. 'ready', gateway) or 0)
  end
  local leased = redis.call('ZCARD', root .. 'receive-leases')
  local lost, counts = {}, redis.call('HGETALL', root .. 'lost')
  for i = 1, #counts, 2 do lost[counts[i]] = tonumber(counts[i + 1]) end
  return { ready = ready, leased = leased, lost = lost, oldestAt = oldest and time_from(oldest .. '-0') }
end

local function jobs()
  local queues = {}
  for _, name in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
    local base = root .. 'jobs:' .. name .. ':'
    local running = redis.call('ZCARD', base .. 'claims')
    local waiting = redis.call('ZCARD', base .. 'all') - running
    local dead, oldest = redis.call('ZCARD', base .. 'dead'), redis.call('ZRANGE', base .. 'all', 0, 0)[1]
    local dead_at = redis.call('ZRANGE', base .. 'dead', 0, 0, 'WITHSCORES')[2]
    queues[#queues + 1] = { queue = name, waiting = waiting, running = running, dead = dead, oldest = oldest,
      deadAt = dead_at and tonumber(dead_at) or nil }
  end
  return queues
end

local unpumped = tonumber(meta[1] or 0) - cursor
return cjson.encode({
  journal = { messages = redis.call('XLEN', root .. 'journal'), oldestAt = time_from('-') },
  receive = receive(),
  dispatch = { unpumped = unpumped, oldestAt = unpumped > 0 and time_from((cursor + 1) .. '-0') or nil },
  jobs = jobs(),
})
