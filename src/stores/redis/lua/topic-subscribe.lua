-- include: log groups
-- Makes a consumer group where it is not there.
--
-- ARGV[3]  group    ARGV[4]  `now`, `start`, or the position after which it begins
-- Returns  1 where it was made, 0 where it was there
local function first_position()
  local first = redis.call('XRANGE', root .. 'journal', '-', '+', 'COUNT', 1)[1]
  return first and position_of(first[1]) or last_position() + 1
end

local from
if ARGV[4] == 'now' then
  from = last_position() + 1
elseif ARGV[4] == 'start' then
  from = first_position()
else
  from = tonumber(ARGV[4]) + 1
end
return redis.call('HSETNX', root .. 'groups', ARGV[3], from)
