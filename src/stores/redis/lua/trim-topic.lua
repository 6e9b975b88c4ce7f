-- include: log seen
-- Removes the oldest events of a topic beyond retention.
--
-- ARGV[3]  maximum number to remove    ARGV[4]  maximum age in ms    ARGV[5]  maximum count
-- ARGV[6]  a digest, to select the hash of lib/seen.lua from which old digests are removed
-- Returns  the number of removed events, and 0 if nothing of the topic is left, else 1
-- Guarantees: positions continue while there is a group, and for a week after the last event was
--          removed; then the topic is forgotten.
local slice = redis.call('XRANGE', root .. 'journal', '-', '+', 'COUNT', ARGV[3])
local over = redis.call('XLEN', root .. 'journal') - ARGV[5]
local removed, stop = 0, nil
for index, entry in ipairs(slice) do
  if index > over and now - time_of(entry) < tonumber(ARGV[4]) then break end
  removed = index
  stop = position_of(entry[1]) + 1
end
if stop then
  redis.call('XTRIM', root .. 'journal', 'MINID', '=', stop .. '-0')
  redis.call('ZREMRANGEBYSCORE', root .. 'erased', '-inf', stop - 1)
end

if redis.call('XLEN', root .. 'journal') == 0 then
  redis.call('DEL', root .. 'journal', root .. 'erased')
  local idle = redis.call('EXISTS', root .. 'groups') == 0
  if idle and redis.call('TTL', root .. 'meta') == -1 then redis.call('EXPIRE', root .. 'meta', UNUSED_TTL) end
  if not idle then redis.call('PERSIST', root .. 'meta') end
end
if #slice > 0 then forget_old(root .. 'topic-seen:', ARGV[6]) end
return { removed, redis.call('EXISTS', root .. 'journal', root .. 'meta', root .. 'groups') > 0 and 1 or 0 }
