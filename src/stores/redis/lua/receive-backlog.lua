-- include: log notes ready available
-- Counts the available messages of a gateway. Writes nothing. Costs a few calls, independent of the
-- backlog.
--
-- ARGV[3]   gateway
-- Returns   the number of available messages, and the time of the oldest (Unix ms; 0 if there is
--           none)
local gateway = ARGV[3]
local count = redis.call('XLEN', root .. 'receive:' .. gateway)
  + redis.call('ZCARD', root .. 'receive-back:' .. gateway)
  + (redis.call('HGET', root .. 'ready', gateway) or 0)
local oldest = oldest_available(gateway)
local found = oldest and entry_at(oldest)
return { count, found and time_of(found) or 0 }
