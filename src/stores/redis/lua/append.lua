-- include: seen ready
-- Appends to a log, each entry once per key within seven days: messages to the journal, visible at once on all roads,
-- or events to a topic.
--
-- ARGV[3]   topic, or empty for messages
-- ARGV[4]   of messages: begins with 1 where the caller knows that the journal has begun, and ends with s and its number where it is one of
--           several shards: a key that came with a conversation before is known where that is. Of a topic: 1 where readers know the numbers
--           of entries; they leap with each life of the server, for one that came back may lack the last entries
-- ARGV[5…]  per entry six values: tail (random, below 2^34); receivedAt or the timestamp (Unix ms); digest of the key
--           (of a message: of gateway and key), or empty; payload; and of a message its gateway, and the digest of
--           the conversation, or empty
-- Returns   the time in the ids of new entries, then per entry its position, or for a known key the
--           `time:position:tail` of the first, or the `shard` that has it
-- Guarantees: all or nothing; a key is known only where its message is; positions are contiguous; the time in ids never goes back; after a lost
--           reply the same call adds no second entry for one with a key, but writes something: who waits for replicas waits for
--           those that have the first; a journal that is gone is not begun
--           anew for one who knew it. Without entries it shows that writing is possible.
local topic = ARGV[3]
local is_topic = topic ~= ''
local seen = root .. (is_topic and 'topic-seen:' or 'seen:')
local meta = redis.call('HMGET', root .. 'meta', 'end', 'time', 'life')
local position, life = tonumber(meta[1] or 0), ''
if not is_topic and string.sub(ARGV[4], 1, 1) == '1' and not meta[1] then
  return { err = 'EMPTY it has lost its journal; restore it, or restart Trivium to begin anew' }
end
if #ARGV == 4 then redis.call('SET', root .. 'probe', 1) end
if is_topic and ARGV[4] == '1' then
  life = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
end
if life ~= '' and meta[1] and meta[3] ~= life then position = position + 10000 end
local shard = not is_topic and string.match(ARGV[4], 's(%d+)$')
-- The parts of an id, in 16 bytes.
local ID = '>I6I5I5'
local time = math.max(now, tonumber(meta[2] or 0))
local first = position
local answers, runs = { time }, {}
-- Most messages were received now; formatting numbers is slow.
local time_text = string.format('%.0f', time)

for i = 5, #ARGV, 6 do
  local tail, stamp, digest, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local gateway, conversation = ARGV[i + 4], ARGV[i + 5]
  local is_keyed, known = digest ~= '', nil
  local placed = is_keyed and shard and conversation == '' and seen_get(root .. 'places:', digest)
  -- A key that another shard has may still be known here, from before.
  if placed and (placed == shard or seen_get(seen, digest)) then placed = nil end
  local value = is_keyed and not placed and struct.pack(ID, time, position + 1, tail)
  if value and is_topic then known = seen_get(seen, digest) elseif value then known = seen_first(seen, digest, value) end
  if placed then
    answers[#answers + 1] = placed
  elseif known then
    local its_time, its_position, its_tail = struct.unpack(ID, known)
    answers[#answers + 1] = its_time .. ':' .. its_position .. ':' .. its_tail
  else
    position = position + 1
    local entry, offset = position .. '-0', stamp == time_text and '0' or stamp - time
    local head = time_text .. ' ' .. tail .. ' ' .. offset .. (is_topic and '' or ' ' .. conversation .. ' ' .. gateway)
    local written = redis.pcall('XADD', root .. 'journal', entry, 'h', head, 'p', payload)
    if written.err then
      if value and not is_topic then forget(seen, digest) end
      -- Fails again, with the error of this line.
      redis.call('XADD', root .. 'journal', entry, 'h', head, 'p', payload)
    end
    if is_topic then
      if value then seen_put(seen, digest, value) end
    else
      local run = runs[#runs]
      if run and run.gateway == gateway and run.last == position - 1 then run.last = position
      else runs[#runs + 1] = { gateway = gateway, first = position, last = position } end
      if conversation ~= '' then redis.call('RPUSH', root .. 'conversation:' .. conversation, position) end
    end
    answers[#answers + 1] = position
  end
end
if position == first then
  if #answers > 1 then redis.call('SET', root .. 'probe', 1) end
  return answers
end

redis.call('HSET', root .. 'meta', 'end', position, 'time', time)
if is_topic then
  if life ~= meta[3] and life ~= '' then redis.call('HSET', root .. 'meta', 'life', life) end
  redis.call('PERSIST', root .. 'meta')
  signal({ 'topic:' .. topic })
else
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
return answers
