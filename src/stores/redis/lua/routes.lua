-- The routes of messages: of their jobs or dead letters in dispatch, or of their last attempts.
-- Writes nothing.
--
-- ARGV[3…]  two values per message: its id, and its position
-- Returns   per message the name of the route, empty if there is none
local base = root .. 'jobs:dispatch:'
-- Cache of lists: messages that are close together share one.
local lists = {}

local function noted(position)
  local key = root .. 'notes:' .. math.floor(position / 32)
  lists[key] = lists[key] or redis.call('LRANGE', key, 0, -1)
  local lines, mark = lists[key], position .. ' '
  for i = #lines, 1, -1 do
    local line = lines[i]
    if string.sub(line, 1, #mark) == mark and string.find(line, '"route":', 1, true) then
      local note = cjson.decode(string.sub(line, #mark + 1))
      local detail = note[4]
      if note[2] == 'd' and type(detail) == 'table' and type(detail.route) == 'string' then return detail.route end
    end
  end
  return ''
end

local found = {}
for i = 3, #ARGV, 2 do
  found[#found + 1] = redis.call('HGET', base .. 'job:' .. ARGV[i], 'g')
    or redis.call('HGET', base .. 'dead:' .. ARGV[i], 'g')
    or noted(ARGV[i + 1])
end
return found
