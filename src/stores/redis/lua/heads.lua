-- Reads the journal backwards without the messages. Writes nothing.
--
-- ARGV[3]  the position of the newest wanted entry
-- ARGV[4]  the maximum number of entries
-- Returns  1 if the journal has no older entries, else 0; and per entry `{id of the entry, head}`,
--          newest first, fewer than the maximum if their messages are large
local most = tonumber(ARGV[4])
local found, bytes, from, is_end = {}, 0, ARGV[3] .. '-0', 0
while is_end == 0 and #found < most and bytes < LARGE do
  local count = math.min(16, most - #found)
  local slice = redis.call('XREVRANGE', root .. 'journal', from, '-', 'COUNT', count)
  for _, entry in ipairs(slice) do
    found[#found + 1] = { entry[1], entry[2][2] }
    bytes = bytes + #entry[2][4]
    from = '(' .. entry[1]
  end
  if #slice < count then is_end = 1 end
end
return { is_end, found }
