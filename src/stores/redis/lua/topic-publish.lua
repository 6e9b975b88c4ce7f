-- include: seen
-- Appends events to a topic, each once per key within seven days.
--
-- ARGV[3]  topic
-- ARGV[4…]  per event four values: tail (random, below 2^34); timestamp (Unix ms); digest of the key or empty; payload
-- Returns   the time in the ids of new events, then per event its position, or for a known key the
--           `time:position:tail` of the first
-- Guarantees: all or nothing; positions are contiguous.
local meta = redis.call('HMGET', root .. 'meta', 'end', 'time')
local position = tonumber(meta[1] or 0)
local time = math.max(now, tonumber(meta[2] or 0))
local first, answers = position, { time }

for i = 4, #ARGV, 4 do
  local tail, stamp, digest, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local known = digest ~= '' and seen_get(root .. 'topic-seen:', digest)
  if known then
    answers[#answers + 1] = unpack_id(known)
  else
    position = position + 1
    local head = time .. ' ' .. tail .. ' ' .. stamp - time
    redis.call('XADD', root .. 'journal', position .. '-0', 'h', head, 'p', payload)
    if digest ~= '' then seen_put(root .. 'topic-seen:', digest, pack_id(time, position, tail)) end
    answers[#answers + 1] = position
  end
end

if position > first then
  redis.call('HSET', root .. 'meta', 'end', position, 'time', time)
  redis.call('PERSIST', root .. 'meta')
  signal({ 'topic:' .. ARGV[3] })
end
return answers
