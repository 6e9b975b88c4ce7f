-- A log is a stream at root..'journal' whose entry IDs are `<position>-0`, with contiguous
-- positions from 1. root..'meta' has `end` (the newest position) and `time` (the time of the newest
-- id). The journal of messages and every topic are logs. An entry is
-- `{id, {'h', head, 'p', payload}}`. The head is one text, because few fields are cheaper to write,
-- read and store: `<time of the id> <tail> <offset>`; the offset plus that time is receivedAt or
-- the timestamp. For messages it continues with ` <digest of the conversation> <gateway>`.

local function position_of(stream_id)
  return tonumber(string.match(stream_id, '^%d+'))
end

-- The entry `{id, {name, value, …}}` at a position, or nil if retention removed it.
local function entry_at(position)
  return redis.call('XRANGE', root .. 'journal', position .. '-0', position .. '-0')[1]
end

-- Like `entry_at`, but nil unless the entry has the id with these parts.
local function entry_with_id(position, time, tail)
  local found = entry_at(position)
  local start = time .. ' ' .. tail .. ' '
  if found and string.sub(found[2][2], 1, #start) == start then return found end
end

-- Unix time in ms of an entry's id.
local function time_of(entry)
  return tonumber(string.match(entry[2][2], '^%d+'))
end

-- The gateway, and the digest of the conversation or an empty text.
local function origin_of(entry)
  local conversation, gateway = string.match(entry[2][2], '^%d+ %d+ %-?%d+ (%S*) (.*)$')
  return gateway, conversation
end
