-- include: seen
-- Removes the oldest excess dead letters, up to 100 per queue, and digests older than seven days
-- from some hashes of lib/seen.lua, for messages and all queues.
--
-- ARGV[3]   maximum number of dead letters per queue
-- ARGV[4…]  digests, to select the hashes
-- Returns  1 if there are more excess dead letters, else 0
local MAX_PER_QUEUE = 100
local has_more = 0
local bases = { root .. 'seen:', root .. 'places:' }
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local base = root .. 'jobs:' .. queue .. ':'
  local excess = redis.call('ZCARD', base .. 'dead') - ARGV[3]
  local oldest = excess > 0 and redis.call('ZPOPMIN', base .. 'dead', math.min(MAX_PER_QUEUE, excess)) or {}
  if excess > MAX_PER_QUEUE then has_more = 1 end
  for i = 1, #oldest, 2 do redis.call('DEL', base .. 'dead:' .. oldest[i]) end
  bases[#bases + 1] = base .. 'seen:'
end
for _, base in ipairs(bases) do
  for i = 4, #ARGV do forget_old(base, ARGV[i]) end
end
return has_more
