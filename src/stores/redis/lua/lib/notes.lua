-- The histories of messages: lists of lines `<position> <note as JSON>`. One list for 32 positions
-- is small enough for Redis to store it as a listpack.
local function notes_of(position) return root .. 'notes:' .. math.floor(position / 32) end

-- trim-journal.lua has removed the lists before this one. If one was written again, it would stay.
local first_list
local function is_removed(position)
  first_list = first_list or tonumber(redis.call('HGET', root .. 'meta', 'notes') or 0)
  return math.floor(position / 32) < first_list
end

local function add_note(position, json)
  if is_removed(position) then return end
  redis.call('RPUSH', notes_of(position), position .. ' ' .. json)
end

-- Adds notes, one JSON text per line. They are collected, and written by `flush_notes`, which the
-- script must call before it ends.
local gathered = {}
local function add_notes(position, lines)
  if is_removed(position) then return end
  local key = notes_of(position)
  local list = gathered[key] or {}
  gathered[key] = list
  for json in string.gmatch(lines, '[^\n]+') do list[#list + 1] = position .. ' ' .. json end
end

-- `inBatches` (batches.ts) limits the number of lines, because Lua's stack limits the arguments of
-- a call.
local function flush_notes()
  for key, list in pairs(gathered) do redis.call('RPUSH', key, unpack(list)) end
  gathered = {}
end
