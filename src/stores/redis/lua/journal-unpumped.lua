-- Reads what the pump has not seen. Writes nothing.
--
-- ARGV[3]  how many
-- Returns  the dispatch cursor and the entries after it, oldest first; fewer than asked where they are large
local LARGE = 4000000
local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
local entries, bytes, from = {}, 0, (cursor + 1) .. '-0'
while #entries < tonumber(ARGV[3]) and bytes < LARGE do
  local count = math.min(16, ARGV[3] - #entries)
  local slice = redis.call('XRANGE', root .. 'journal', from, '+', 'COUNT', count)
  for _, entry in ipairs(slice) do
    entries[#entries + 1] = entry
    bytes = bytes + #entry[2][4]
    from = '(' .. entry[1]
  end
  if #slice < count then break end
end
return { cursor, entries }
