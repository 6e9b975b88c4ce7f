-- The numbers of attempts of messages that have ended: see `attemptsIn` in
-- src/core/attempt-range.ts. Writes nothing.
--
-- ARGV[3…]  the positions of messages
-- Returns   per message its number of attempts
local ENDS = { done = true, failed = true, dead = true }
-- Cache of lists: messages that are close together share one.
local lists = {}

local function attempts_at(position)
  local key = root .. 'notes:' .. math.floor(position / 32)
  lists[key] = lists[key] or redis.call('LRANGE', key, 0, -1)
  local mark, count, highest = position .. ' ', 0, 0
  for _, line in ipairs(lists[key]) do
    if string.sub(line, 1, #mark) == mark and string.find(line, '"attempt":', 1, true) then
      local note = cjson.decode(string.sub(line, #mark + 1))
      local detail = note[4]
      local ends = note[2] == 'd' and ENDS[note[3]] and type(detail) == 'table'
      if ends and type(detail.attempt) == 'number' and type(detail.ms) == 'number' and detail.code ~= 'run_cancelled' then
        count = count + 1
        highest = math.max(highest, detail.attempt)
      end
    end
  end
  return math.max(count, highest)
end

local found = {}
for i = 3, #ARGV do found[#found + 1] = attempts_at(ARGV[i]) end
return found
