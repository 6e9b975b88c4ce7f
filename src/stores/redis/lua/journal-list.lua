-- include: log
-- Looks through a bounded slice of the journal, newest first. Writes nothing.
--
-- ARGV[3]  the position to begin at (included), or `+`
-- ARGV[4]  gateway, or empty        ARGV[5]  digest of the conversation, or empty
-- ARGV[6]  position of the message that is a conversation alone, or empty
-- ARGV[7]  how many to return       ARGV[8]  how many entries to look at
-- Returns  the position to go on from (0: the journal ends here), then the entries that match
local start = ARGV[3] == '+' and '+' or ARGV[3] .. '-0'
local slice = redis.call('XREVRANGE', root .. 'journal', start, '-', 'COUNT', ARGV[8])
local limit = tonumber(ARGV[7])
local found = { 0 }

local function matches(entry)
  local gateway, conversation = origin_of(entry)
  if ARGV[4] ~= '' and gateway ~= ARGV[4] then return false end
  if ARGV[5] == '' or conversation == ARGV[5] then return true end
  return conversation == '' and ARGV[6] ~= '' and position_of(entry[1]) == tonumber(ARGV[6])
end

for _, entry in ipairs(slice) do
  if #found > limit then return found end
  if matches(entry) then found[#found + 1] = entry end
  found[1] = position_of(entry[1]) - 1
end
if #slice < tonumber(ARGV[8]) then found[1] = 0 end
return found
