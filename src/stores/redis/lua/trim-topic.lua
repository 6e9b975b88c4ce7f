-- include: log
-- Removes the oldest events of a topic that are too old or too many, a bounded number of them.
--
-- ARGV[3]  how many at most    ARGV[4]  greatest age in ms    ARGV[5]  greatest count
-- Returns  how many were removed
local slice = redis.call('XRANGE', root .. 'journal', '-', '+', 'COUNT', ARGV[3])
local over = redis.call('XLEN', root .. 'journal') - ARGV[5]
local removed, stop = 0, nil
for index, entry in ipairs(slice) do
  if index > over and now - time_of(entry) < tonumber(ARGV[4]) then break end
  removed = index
  stop = position_of(entry[1]) + 1
end
if stop then redis.call('XTRIM', root .. 'journal', 'MINID', '=', stop .. '-0') end
return removed
