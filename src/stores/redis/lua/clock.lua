-- include: groups
-- Follows a clock of the server that was set back: brings the times that something waits for back by as much, as otherwise
-- leases, retries and delays would hold until the clock is there again.
--
-- ARGV[3]  topics with groups below this root, with line feeds between
-- Returns  by how many ms it was set back since something last began to wait; 0 where that is less than ten seconds
local SET_BACK = 10000
local latest = tonumber(redis.call('HGET', root .. 'meta', 'latest') or nil) or 0
local back = latest - now
if back < SET_BACK then return 0 end
redis.call('HSET', root .. 'meta', 'latest', now)

local function bring_back(key)
  local later = redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES')
  for i = 1, #later, 2 do redis.call('ZADD', key, later[i + 1] - back, later[i]) end
  return #later > 0
end

local names = {}
if bring_back(root .. 'receive-leases') then names[#names + 1] = 'receive' end
for _, queue in ipairs(redis.call('SMEMBERS', root .. 'queues')) do
  local base = root .. 'jobs:' .. queue .. ':'
  local claims, delayed = bring_back(base .. 'claims'), bring_back(base .. 'delayed')
  if claims or delayed then names[#names + 1] = 'jobs:' .. queue end
end
local is_hidden = false
for _, group in ipairs(redis.call('HKEYS', root .. 'groups')) do
  is_hidden = bring_back(keys_of(group).hidden) or is_hidden
end
if is_hidden then
  for topic in string.gmatch(ARGV[3], '[^\n]+') do names[#names + 1] = 'topic:' .. topic end
end
signal(names)
return back
