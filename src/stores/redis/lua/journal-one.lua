-- include: log notes
-- One message by its id.
--
-- ARGV[3…5]  position, time and tail of its id
-- ARGV[6]    `get`: its entry, or false
--            `history`: its notes as JSON, oldest first
--            `note`, with notes as JSON, joined by line feeds, in ARGV[7]: adds them where it is retained
local entry = entry_with_id(ARGV[3], ARGV[4], ARGV[5])
if ARGV[6] == 'get' then return entry or false end
local notes = {}
if not entry then return notes end
if ARGV[6] == 'note' then
  add_notes(ARGV[3], ARGV[7])
  return notes
end
local mark = ARGV[3] .. ' '
for _, line in ipairs(redis.call('LRANGE', notes_key(ARGV[3]), 0, -1)) do
  if string.sub(line, 1, #mark) == mark then notes[#notes + 1] = string.sub(line, #mark + 1) end
end
return notes
