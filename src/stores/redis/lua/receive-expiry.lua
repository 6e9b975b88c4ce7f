-- Tells in how many ms the next lease runs out, or false. Writes nothing.
local first = redis.call('ZRANGE', root .. 'receive-leases', 0, 0, 'WITHSCORES')
return first[2] and first[2] - now or false
