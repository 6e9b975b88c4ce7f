-- include: seen
-- Appends messages to the journal, each once per key within seven days, visible at once on all roads.
--
-- ARGV[3…]  per message six values: tail (random, below 2^34); gateway; receivedAt (Unix ms);
--           digest of gateway and key, or empty; digest of the conversation, or empty; payload
-- Returns   the time in the ids of new messages, then per message its position, or for a duplicate
--           the `time:position:tail` of the first
-- Guarantees: all or nothing; positions are contiguous; the time in ids never goes back; after a lost
--           reply the same call adds no second message for messages with a key.
local meta = redis.call('HMGET', root .. 'meta', 'end', 'time')
local position = tonumber(meta[1] or 0)
local time = math.max(now, tonumber(meta[2] or 0))
local first, bytes = position, 0
local answers, gateways = { time }, {}
-- Most messages were received now; formatting numbers is slow.
local time_text = string.format('%.0f', time)

for i = 3, #ARGV, 6 do
  local tail, gateway, received, digest = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local conversation, payload = ARGV[i + 4], ARGV[i + 5]
  local known = digest ~= '' and seen_get(root .. 'seen:', digest)
  if known then
    answers[#answers + 1] = unpack_id(known)
  else
    position = position + 1
    bytes = bytes + #payload
    gateways[gateway] = true
    local entry, offset = position .. '-0', received == time_text and '0' or received - time
    local head = time_text .. ' ' .. tail .. ' ' .. offset .. ' ' .. conversation .. ' ' .. gateway
    redis.call('XADD', root .. 'journal', entry, 'h', head, 'p', payload)
    redis.call('XADD', root .. 'receive:' .. gateway, entry, '', '')
    if conversation ~= '' then redis.call('RPUSH', root .. 'conversation:' .. conversation, position) end
    if digest ~= '' then seen_put(root .. 'seen:', digest, pack_id(time, position, tail)) end
    answers[#answers + 1] = position
  end
end

if position > first then
  redis.call('HSET', root .. 'meta', 'end', position, 'time', time)
  redis.call('HINCRBY', root .. 'meta', 'bytes', bytes)
  for gateway in pairs(gateways) do redis.call('SADD', root .. 'gateways', gateway) end
  signal({ 'journal', 'receive', 'topic:gateway-message' })
end
return answers
