-- include: seen
-- Takes digests older than seven days out of some of the hashes that `seen_put` fills.
--
-- ARGV[3]  what the names of the hashes begin with, after root    ARGV[4…]  the rest of their names
-- Returns  how many were removed
local removed = 0
for i = 4, #ARGV do removed = removed + forget_old(root .. ARGV[3] .. ARGV[i]) end
return removed
