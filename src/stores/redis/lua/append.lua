-- include: whole seen ready
-- Appends messages to the journal, visible on all roads at once, or events to a topic. Each key is
-- appended once within seven days.
--
-- ARGV[3]   topic, or empty for messages
-- ARGV[4]   for messages: `1` if the caller knows that the journal has messages, then `s<number>`
--           if this is one of several shards (see lua/place.lua for keys that another shard has)
--           for a topic: `1` if readers resume by position: then positions jump after a restart of
--           the server, because it may have lost its last entries
-- ARGV[5…]  six values per entry: tail (random, below 2^34); receivedAt or timestamp (Unix ms);
--           digest of the key (for a message: of gateway and key), or empty; payload; for a message
--           its gateway, and the digest of its conversation, or empty
-- Returns   the time in the ids of new entries; then per entry its position, or for a known key the
--           `time:position:tail` of the first entry, or the `shard` that has it
-- Guarantees: Atomic, even if a command fails half-way. A key is known only if its entry exists.
--           Positions are contiguous. The time in ids never decreases. Repeated after a lost reply,
--           it adds no second entry for a key, but writes something, so that waiting for replicas
--           covers the first call. A lost journal is not started again for a caller that knew it.
--           Without entries, it tests whether large messages can be written: it fails with OOM if
--           less than 4 MiB of memory is free.
local topic = ARGV[3]
local is_topic = topic ~= ''
local seen = root .. (is_topic and 'topic-seen:' or 'seen:')
local meta = redis.call('HMGET', root .. 'meta', 'end', 'time', 'life')
local position, life = tonumber(meta[1] or 0), ''
if not is_topic and string.sub(ARGV[4], 1, 1) == '1' and not meta[1] then
  return { err = 'EMPTY it has lost its journal; restore it, or restart Trivium to start an empty one' }
end
if #ARGV == 4 then
  -- A small value may still fit where large messages do not.
  local info = redis.pcall('INFO', 'memory')
  local field = function(name) return type(info) == 'string' and tonumber(string.match(info, name .. ':(%d+)')) or 0 end
  local free = field('[\r\n]maxmemory') - field('[\r\n]used_memory') + field('mem_not_counted_for_evict')
  if field('[\r\n]maxmemory') > 0 and free < 4194304 then
    return { err = string.format('OOM its memory is almost full: %d KiB of maxmemory are free, less than 4 MiB', math.max(0, free) / 1024) }
  end
  redis.call('SET', root .. 'probe', 1)
end
if is_topic and ARGV[4] == '1' then
  life = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
end
if life ~= '' and meta[1] and meta[3] ~= life then position = position + 10000 end
local shard = not is_topic and string.match(ARGV[4], 's(%d+)$')
-- The parts of an id, in 16 bytes.
local ID = '>I6I5I5'
local time = math.max(now, tonumber(meta[2] or 0))
-- Most messages were received now; formatting numbers is slow.
local time_text = string.format('%.0f', time)
local journal = root .. 'journal'

-- The newest position before this call, and everything that the call has written, for `undo`.
local first, keys, pushes, runs

local function add_entry(i)
  local tail, stamp, payload, gateway, conversation = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  position = position + 1
  local entry, offset = string.format('%d-0', position), stamp == time_text and '0' or stamp - time
  if is_topic then
    redis.call('XADD', journal, entry, 'h', time_text .. ' ' .. tail .. ' ' .. offset, 'p', payload)
    return
  end
  local head = time_text .. ' ' .. tail .. ' ' .. offset .. ' ' .. conversation .. ' ' .. gateway
  redis.call('XADD', journal, entry, 'h', head, 'p', payload)
  local run = runs[#runs]
  if run and run.gateway == gateway and run.last == position - 1 then run.last = position
  else runs[#runs + 1] = { gateway = gateway, first = position, last = position } end
  if conversation ~= '' then
    -- Flat pairs: a table per entry would cost more than the push.
    local size = #pushes
    pushes[size + 1], pushes[size + 2] = conversation, position
    redis.call('RPUSH', root .. 'conversation:' .. conversation, position)
  end
end

-- The answer for one entry: its position, or where the first entry of its key is.
local function append_one(i)
  local tail, digest, conversation = ARGV[i], ARGV[i + 2], ARGV[i + 5]
  local is_keyed, known = digest ~= '', nil
  local placed = is_keyed and shard and conversation == '' and seen_get(root .. 'places:', digest)
  -- A key of another shard may still be known here, from before the store had several shards.
  if placed and (placed == shard or seen_get(seen, digest)) then placed = nil end
  if placed then return placed end
  local value = is_keyed and struct.pack(ID, time, position + 1, tail)
  if value and is_topic then known = seen_get(seen, digest) elseif value then known = seen_first(seen, digest, value) end
  if known then
    local its_time, its_position, its_tail = struct.unpack(ID, known)
    return its_time .. ':' .. its_position .. ':' .. its_tail
  end
  if value then keys[#keys + 1] = digest end
  add_entry(i)
  if value and is_topic then seen_put(seen, digest, value) end
  return position
end

local function show_on_roads()
  redis.call('HSET', root .. 'meta', 'end', position, 'time', time)
  if is_topic then
    if life ~= meta[3] and life ~= '' then redis.call('HSET', root .. 'meta', 'life', life) end
    redis.call('PERSIST', root .. 'meta')
    return signal({ 'topic:' .. topic })
  end
  local gateways = {}
  for i, run in ipairs(runs) do
    gateways[run.gateway] = true
    -- Between messages of other gateways, a reference in the stream costs less than a run of one.
    if run.first == run.last and i < #runs then redis.call('XADD', root .. 'receive:' .. run.gateway, run.first .. '-0', '', '')
    else add_ready(run.gateway, run.first, run.last) end
  end
  for gateway in pairs(gateways) do redis.call('SADD', root .. 'gateways', gateway) end
  signal({ 'journal', 'receive', 'topic:gateway-message' })
end

local function append_all(from)
  first, position, keys, pushes, runs = from, from, {}, {}, {}
  local answers = { time }
  for i = 5, #ARGV, 6 do answers[#answers + 1] = append_one(i) end
  if position > first then show_on_roads() elseif #answers > 1 then redis.call('SET', root .. 'probe', 1) end
  return answers
end

-- Undoes the writes of this call after a failed command, for example if another program wrote to
-- one of the keys.
local function undo()
  for _, digest in ipairs(keys) do redis.pcall('HDEL', seen_bucket(seen, digest), string.sub(digest, 3)) end
  for i = 1, #pushes, 2 do redis.pcall('LREM', root .. 'conversation:' .. pushes[i], -1, pushes[i + 1]) end
  for _, run in ipairs(runs) do
    for at = run.first, run.last do
      redis.pcall('XDEL', root .. 'receive:' .. run.gateway, at .. '-0')
      pcall(remove_ready, run.gateway, at)
    end
  end
  for at = first + 1, position do redis.pcall('XDEL', root .. 'journal', at .. '-0') end
  redis.pcall('XSETID', root .. 'journal', string.format('%.0f-0', first))
  if meta[1] then redis.pcall('HSET', root .. 'meta', 'end', meta[1], 'time', meta[2])
  else redis.pcall('HDEL', root .. 'meta', 'end', 'time') end
end

-- The newest position of the stream, if an earlier version failed after writing entries and did not
-- record them.
local function position_of_stream(failure)
  if not string.find(failure, 'equal or smaller than the target stream top item', 1, true) then return nil end
  local info = redis.call('XINFO', 'STREAM', root .. 'journal')
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return tonumber(string.match(info[i + 1], '^%d+')) end
  end
end

local from = position
local function append_all_here() return append_all(from) end
local answers, failure = whole(append_all_here, undo)
if answers then return answers end
from = position_of_stream(failure)
if from then answers, failure = whole(append_all_here, undo) end
return answers or { err = failure }
