-- Returns the position of the newest entry of a log, 0 where there never was one. Writes nothing.
return tonumber(redis.call('HGET', root .. 'meta', 'end') or 0)
