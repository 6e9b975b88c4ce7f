-- include: seen
-- Removes the oldest of too many dead letters, a bounded number of each queue, and takes digests older than seven days
-- out of some of the hashes that `seen_put` fills, for messages and all queues.
--
-- ARGV[3]  how many dead letters a queue may have    ARGV[4…]  digests that lie in these hashes
local bases = { root .. 'seen:', root .. 'places:' }
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local base = root .. 'jobs:' .. queue .. ':'
  local excess = math.min(100, redis.call('ZCARD', base .. 'dead') - ARGV[3])
  local oldest = excess > 0 and redis.call('ZPOPMIN', base .. 'dead', excess) or {}
  for i = 1, #oldest, 2 do redis.call('DEL', base .. 'dead:' .. oldest[i]) end
  bases[#bases + 1] = base .. 'seen:'
end
for _, base in ipairs(bases) do
  for i = 4, #ARGV do forget_old(base, ARGV[i]) end
end
return 1
