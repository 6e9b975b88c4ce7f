-- include: seen
-- Tells on which shard messages belong that have a key: where the first with that key within seven days went. That is
-- known on the shard of the key, whichever their conversations are.
--
-- ARGV[3]  the number of this shard
-- ARGV[4…]  per message the digest of gateway and key, and the shard of its conversation
-- Returns  per message its shard
-- Guarantees: all calls with one key get one answer.
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
-- Who waits for replicas waits for those that have what was known.
if known then redis.call('SET', root .. 'probe', 1) end
return answers
