-- include: log seen
-- Removes the oldest events of a topic that are too old or too many, a bounded number of them.
--
-- ARGV[3]  how many at most    ARGV[4]  greatest age in ms    ARGV[5]  greatest count
-- ARGV[6]  a digest: old ones are taken out of the hash in which it lies
-- Returns  how many were removed, and 0 where nothing of the topic is left, else 1
-- Guarantees: positions go on where they were for a week after the last event went, and for as long as
--          there is a group; then the topic is forgotten.
local slice = redis.call('XRANGE', root .. 'journal', '-', '+', 'COUNT', ARGV[3])
local over = redis.call('XLEN', root .. 'journal') - ARGV[5]
local removed, stop = 0, nil
for index, entry in ipairs(slice) do
  if index > over and now - time_of(entry) < tonumber(ARGV[4]) then break end
  removed = index
  stop = position_of(entry[1]) + 1
end
if stop then redis.call('XTRIM', root .. 'journal', 'MINID', '=', stop .. '-0') end

if redis.call('XLEN', root .. 'journal') == 0 then
  redis.call('DEL', root .. 'journal')
  local idle = redis.call('EXISTS', root .. 'groups') == 0
  if idle and redis.call('TTL', root .. 'meta') == -1 then redis.call('EXPIRE', root .. 'meta', WEEK) end
  if not idle then redis.call('PERSIST', root .. 'meta') end
end
if #slice > 0 then forget_old(root .. 'topic-seen:', ARGV[6]) end
return { removed, redis.call('EXISTS', root .. 'journal', root .. 'meta', root .. 'groups') > 0 and 1 or 0 }
