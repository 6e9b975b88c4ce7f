-- include: seen
-- Takes digests older than seven days out of some of the hashes that `seen_put` fills.
--
-- ARGV[3]  what the names of the hashes begin with, after root    ARGV[4…]  the rest of their names
-- Returns  how many were removed
local removed = 0
for i = 4, #ARGV do
  local bucket = root .. ARGV[3] .. ARGV[i]
  local stored = redis.call('HGETALL', bucket)
  for each = 1, #stored, 2 do
    if now / 1000 - struct.unpack('>I4', stored[each + 1]) >= SEEN_SECONDS then
      removed = removed + redis.call('HDEL', bucket, stored[each])
    end
  end
end
return removed
