-- include: log notes
-- Reads the history of one message. Writes nothing.
--
-- ARGV[3…5]  position, time and tail of the message's id
-- Returns    its notes as JSON, oldest first
local notes = {}
if not entry_with_id(ARGV[3], ARGV[4], ARGV[5]) then return notes end
local mark = ARGV[3] .. ' '
for _, line in ipairs(redis.call('LRANGE', notes_key(ARGV[3]), 0, -1)) do
  if string.sub(line, 1, #mark) == mark then notes[#notes + 1] = string.sub(line, #mark + 1) end
end
return notes
