-- The errors of the attempts at messages, and of the delivery of their replies. Writes nothing.
--
-- ARGV[3…]  the positions of messages
-- Returns   per message its distinct errors, one per line; empty if there is none
local ENDS = {
  d = { failed = true, dead = true },
  o = { ['send failed'] = true, dead = true, bounced = true, suppressed = true },
}
local FIELDS = { 'error', 'reason', 'diagnostic', 'status' }
-- Cache of lists: messages that are close together share one.
local lists = {}

local function error_in(detail)
  if type(detail) ~= 'table' then return nil end
  for _, field in ipairs(FIELDS) do
    if type(detail[field]) == 'string' then return detail[field] end
  end
end

local function errors_at(position)
  local key = root .. 'notes:' .. math.floor(position / 32)
  lists[key] = lists[key] or redis.call('LRANGE', key, 0, -1)
  local mark, known, texts = position .. ' ', {}, {}
  for _, line in ipairs(lists[key]) do
    local road, what
    if string.sub(line, 1, #mark) == mark then
      road, what = string.match(line, '^%d+ %[[%d.e+-]+,"([^"]*)","([^"]*)"')
    end
    if road and ENDS[road] and ENDS[road][what] then
      local text = error_in(cjson.decode(string.sub(line, #mark + 1))[4])
      if text and not known[text] then
        known[text] = true
        texts[#texts + 1] = text
      end
    end
  end
  return table.concat(texts, '\n')
end

local found = {}
for i = 3, #ARGV do found[#found + 1] = errors_at(ARGV[i]) end
return found
