-- The history of messages: lists of lines `<position> <note as JSON>`, one list for 32 positions, which
-- Redis keeps as listpacks.
local function notes_of(position) return root .. 'notes:' .. math.floor(position / 32) end

local function add_note(position, json)
  redis.call('RPUSH', notes_of(position), position .. ' ' .. json)
end

-- Adds notes that are joined by line feeds; JSON has none inside. They are written with the others of their list by
-- `flush_notes`, which the script must call before it ends.
local gathered = {}
local function add_notes(position, lines)
  local key = notes_of(position)
  local list = gathered[key] or {}
  gathered[key] = list
  for json in string.gmatch(lines, '[^\n]+') do list[#list + 1] = position .. ' ' .. json end
end

-- `inBatches` of scripts.ts bounds the lines: Lua's stack bounds what one call can carry.
local function flush_notes()
  for key, list in pairs(gathered) do redis.call('RPUSH', key, unpack(list)) end
  gathered = {}
end
