-- A log is a stream at root..'journal' whose entry IDs are `<position>-0`, with contiguous positions from 1;
-- root..'meta' holds `end` (the newest position) and `time` (of the newest id). The journal of messages and
-- every topic are logs. Values of an entry by index:
local TIME, TAIL, GATEWAY, CONVERSATION = 2, 4, 8, 10

local function position_of(stream_id)
  return tonumber(string.match(stream_id, '^%d+'))
end

-- The entry `{id, {name, value, …}}` at a position, or nil where retention removed it.
local function entry_at(position)
  return redis.call('XRANGE', root .. 'journal', position .. '-0', position .. '-0')[1]
end

-- The same, only where the entry has the id that consists of these parts.
local function entry_with_id(position, time, tail)
  local found = entry_at(position)
  if found and found[2][TIME] == time and found[2][TAIL] == tail then return found end
  return nil
end
