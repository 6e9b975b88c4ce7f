-- include: log
-- Reads messages by the parts of their ids. Writes nothing.
--
-- ARGV[3…]  per message three values: position, time, tail
-- Returns   per message its entry, or false
local found = {}
for i = 3, #ARGV, 3 do
  found[#found + 1] = entry_with_id(ARGV[i], ARGV[i + 1], ARGV[i + 2]) or false
end
return found
