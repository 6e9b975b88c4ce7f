-- include: seen
-- Takes digests older than seven days out of some of the hashes that `seen_put` fills, for messages and all queues.
--
-- ARGV[3…]  digests that lie in these hashes
local bases = { 'seen:' }
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do bases[#bases + 1] = 'jobs:' .. queue .. ':seen:' end
for _, base in ipairs(bases) do
  for i = 3, #ARGV do forget_old(root .. base, ARGV[i]) end
end
return 1
