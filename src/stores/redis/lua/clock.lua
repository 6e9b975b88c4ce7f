-- include: groups
-- After the clock of the server was set back: moves all waiting times under this root back by the
-- same amount. Otherwise leases, retries and delays would last until the clock reaches their times
-- again.
--
-- ARGV[3]  topics with groups under this root, separated by line feeds
-- Returns  the number of ms by which the clock was set back, compared with `latest` in `meta`; 0 if
--          less than ten seconds
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
