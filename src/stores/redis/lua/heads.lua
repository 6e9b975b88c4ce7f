-- Reads the journal backwards without the messages. Writes nothing.
--
-- ARGV[3]  the position of the newest wanted entry
-- ARGV[4]  the maximum number of entries
-- Returns  per entry `{id of the entry, head}`, newest first
local found = {}
for _, entry in ipairs(redis.call('XREVRANGE', root .. 'journal', ARGV[3] .. '-0', '-', 'COUNT', ARGV[4])) do
  found[#found + 1] = { entry[1], entry[2][2] }
end
return found
