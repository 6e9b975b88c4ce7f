-- The history of messages: lists of lines `<position> <note as JSON>`, one list for 32 positions, which
-- Redis keeps as listpacks.
local function add_note(position, json)
  redis.call('RPUSH', root .. 'notes:' .. math.floor(position / 32), position .. ' ' .. json)
end

-- Adds notes that are joined by line feeds; JSON has none inside.
local function add_notes(position, lines)
  for json in string.gmatch(lines, '[^\n]+') do add_note(position, json) end
end
