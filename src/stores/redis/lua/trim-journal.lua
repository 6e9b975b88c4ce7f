-- include: log notes ready available
-- Removes messages beyond retention from a slice of the journal.
--
-- ARGV[3]  first position             ARGV[4]  number of entries to check
-- ARGV[5]  maximum age in ms          ARGV[6]  maximum count
-- ARGV[7]  limits of single gateways (`maxAge`, `maxCount`), as a JSON object
-- Returns  the number of removed messages, and the position at which to continue (0: done)
-- Guarantees: keeps messages after the dispatch cursor and those that unfinished jobs need. Counts
--          lost messages: a removed message is lost if nobody took it, although its gateway had a
--          consumer. A gateway has one for seven days after its last take.
-- The hash `kept` counts the messages of each gateway up to the position `counted` in `meta`. It is
-- updated if a gateway has a maximum count, for at most ARGV[4] messages per call.
local max_age, limits_by_gateway = tonumber(ARGV[5]), cjson.decode(ARGV[7])
local journal, meta = root .. 'journal', root .. 'meta'
local smallest_age, has_max_count = max_age, false
for _, limits in pairs(limits_by_gateway) do
  smallest_age = math.min(smallest_age, limits.maxAge or max_age)
  has_max_count = has_max_count or limits.maxCount
end
local counted = tonumber(redis.call('HGET', meta, 'counted') or 0)
if has_max_count then
  local news = redis.call('XRANGE', journal, counted + 1 .. '-0', '+', 'COUNT', ARGV[4])
  for _, entry in ipairs(news) do
    redis.call('HINCRBY', root .. 'kept', origin_of(entry), 1)
    counted = position_of(entry[1])
  end
  redis.call('HSET', meta, 'counted', counted)
  -- Not counted to the end: the caller calls again at the same position. 0 would mean done.
  if #news == tonumber(ARGV[4]) then return { 0, math.max(1, ARGV[3]) } end
end
-- Number of messages above the maximum count, per gateway.
local excess, total = {}, 0
for gateway, limits in pairs(limits_by_gateway) do
  local kept = limits.maxCount and tonumber(redis.call('HGET', root .. 'kept', gateway) or 0) or 0
  excess[gateway] = math.max(0, kept - (limits.maxCount or 0))
  total = total + excess[gateway]
end
local slice = redis.call('XRANGE', journal, ARGV[3] .. '-0', '+', 'COUNT', ARGV[4])
if #slice == 0 then return { 0, 0 } end
local cursor = tonumber(redis.call('HGET', meta, 'cursor') or 0)
local over = redis.call('XLEN', journal) - ARGV[6]
local removed, go_on = 0, 0
local is_last_slice = #slice < tonumber(ARGV[4])

local needed = {}
local last = position_of(slice[#slice][1])
local needs = redis.call('ZRANGEBYSCORE', root .. 'needs', ARGV[3], last, 'WITHSCORES')
for i = 2, #needs, 2 do needed[tonumber(needs[i])] = true end

local function remove(position, gateway, conversation, time)
  redis.call('XDEL', journal, position .. '-0')
  if position <= counted then redis.call('HINCRBY', root .. 'kept', gateway, -1) end
  local untaken = make_unavailable(gateway, conversation, position)
  local held = redis.call('ZRANGEBYSCORE', root .. 'receive-holders', position, position)
  for _, receipt in ipairs(held) do end_lease(receipt) end
  local has_consumer = time - (redis.call('HGET', root .. 'taken', gateway) or 0) < WORKERS_TTL * 1000
  if has_consumer and (untaken or #held > 0) then redis.call('HINCRBY', root .. 'lost', gateway, 1) end
  removed = removed + 1
end

for _, entry in ipairs(slice) do
  local position, old = position_of(entry[1]), now - time_of(entry)
  go_on = position + 1
  local is_within_limits = over <= removed and old < smallest_age and total <= 0
  if position > cursor or is_within_limits then
    go_on = 0
    break
  end
  local gateway, conversation = origin_of(entry)
  local limits, many = limits_by_gateway[gateway] or {}, excess[gateway] or 0
  if not needed[position] and (old >= (limits.maxAge or max_age) or over > removed or many > 0) then
    remove(position, gateway, conversation, now - old)
    if many > 0 then excess[gateway], total = many - 1, total - 1 end
  end
end

-- Removes histories and what was erased before. A list holds those of 32 positions (lib/notes.lua), and is removed when all of
-- its messages are; at most 1000 lists per call.
if removed > 0 then
  local first = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
  local first_left = first and position_of(first[1]) or redis.call('HGET', meta, 'end') + 1
  local first_list = tonumber(redis.call('HGET', meta, 'notes') or 0)
  local stop = math.max(first_list, math.min(first_list + 1000, math.floor(first_left / 32)))
  for list = first_list, stop - 1 do redis.call('DEL', root .. 'notes:' .. list) end
  redis.call('HSET', meta, 'notes', stop)
  redis.call('ZREMRANGEBYSCORE', root .. 'erased', '-inf', first_left - 1)
end
return { removed, is_last_slice and 0 or go_on }
