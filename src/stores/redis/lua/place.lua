-- include: seen
-- Finds the shards for messages with a key: the shard of the first message with that key within
-- seven days. The shard of the key (this one) records it, regardless of the conversations.
--
-- ARGV[3]   the number of this shard
-- ARGV[4…]  per message the digest of gateway and key, and the shard of its conversation
-- Returns   per message its shard
-- Guarantees: all calls with the same key get the same answer.
local answers, known = {}, false
for i = 4, #ARGV, 2 do
  local digest, wanted = ARGV[i], ARGV[i + 1]
  local place = seen_get(root .. 'seen:', digest) and ARGV[3] or seen_get(root .. 'places:', digest)
  if not place then
    place = wanted
    seen_put(root .. 'places:', digest, wanted)
  else
    known = true
  end
  answers[#answers + 1] = tonumber(place)
end
-- Writes something, so that waiting for replicas covers the earlier write.
if known then redis.call('SET', root .. 'probe', 1) end
return answers
