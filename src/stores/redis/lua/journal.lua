-- include: log notes
-- Operations on the journal.
--
-- ARGV[3]  the operation, followed by its arguments:
--          `note` position, time and tail of an id, notes as JSON lines. Adds notes to a message,
--          if it is still retained
--          `unpumped` limit. Returns the dispatch cursor; 1 if there are more, else 0; and the
--          entries after the cursor, oldest first, fewer than the limit if they are large
if ARGV[3] == 'note' then
  if entry_with_id(ARGV[4], ARGV[5], ARGV[6]) then add_notes(ARGV[4], ARGV[7]) end
  flush_notes()
  return 1
end
local most, cursor = tonumber(ARGV[4]), tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
local entries, bytes, from, more = {}, 0, (cursor + 1) .. '-0', true
while #entries < most and bytes < LARGE do
  local count = math.min(16, most - #entries)
  local slice = redis.call('XRANGE', root .. 'journal', from, '+', 'COUNT', count)
  for _, entry in ipairs(slice) do
    entries[#entries + 1] = entry
    bytes = bytes + #entry[2][4]
    from = '(' .. entry[1]
  end
  more = #slice == count
  if not more then break end
end
if more then more = #redis.call('XRANGE', root .. 'journal', from, '+', 'COUNT', 1) > 0 end
return { cursor, more and 1 or 0, entries }
