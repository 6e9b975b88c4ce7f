-- include: log notes available
-- Removes messages that are too old or too many from a bounded slice of the journal.
--
-- ARGV[3]  the position to begin at    ARGV[4]  how many entries to look at
-- ARGV[5]  greatest age in ms          ARGV[6]  greatest count
-- ARGV[7]  greatest ages of single gateways, as a JSON object
-- Returns  how many were removed, and the position to go on from (0: nothing more to do)
-- Guarantees: keeps what the pump has not seen and what an unfinished job needs.
local age, ages = tonumber(ARGV[5]), cjson.decode(ARGV[7])
local least = age
for _, each in pairs(ages) do least = math.min(least, each) end
local journal = root .. 'journal'
local slice = redis.call('XRANGE', journal, ARGV[3] .. '-0', '+', 'COUNT', ARGV[4])
if #slice == 0 then return { 0, 0 } end
local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
local over = redis.call('XLEN', journal) - ARGV[6]
local removed, go_on = 0, 0

local needed = {}
local last = position_of(slice[#slice][1])
local needs = redis.call('ZRANGEBYSCORE', root .. 'needs', ARGV[3], last, 'WITHSCORES')
for i = 2, #needs, 2 do needed[tonumber(needs[i])] = true end

local function remove(position, gateway, conversation)
  redis.call('XDEL', journal, position .. '-0')
  make_unavailable(gateway, conversation, position)
  local held = redis.call('ZRANGEBYSCORE', root .. 'receive-holders', position, position)
  for _, receipt in ipairs(held) do end_lease(receipt) end
  removed = removed + 1
end

for _, entry in ipairs(slice) do
  local position, old = position_of(entry[1]), now - time_of(entry)
  go_on = position + 1
  if position > cursor or (over <= removed and old < least) then
    go_on = 0
    break
  end
  local gateway, conversation = origin_of(entry)
  local expired = old >= (tonumber(ages[gateway]) or age)
  if not needed[position] and (expired or over > removed) then
    remove(position, gateway, conversation)
  end
end

-- The history goes with the messages, in whole lists.
local function drop_notes()
  local first = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
  local kept = first and position_of(first[1]) or redis.call('HGET', root .. 'meta', 'end') + 1
  local bucket = tonumber(redis.call('HGET', root .. 'meta', 'notes') or 0)
  local stop = math.min(bucket + 1000, math.floor(kept / 32))
  if bucket >= stop then return end
  for each = bucket, stop - 1 do redis.call('DEL', root .. 'notes:' .. each) end
  redis.call('HSET', root .. 'meta', 'notes', stop)
end

if removed > 0 then drop_notes() end
return { removed, go_on }
