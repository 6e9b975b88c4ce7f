-- Records the current time (accurate to the second) when something begins to wait, so that
-- clock.lua notices a clock that was ahead and has been set back, even if it was ahead only
-- briefly.
local function note_clock()
  local latest = tonumber(redis.call('HGET', root .. 'meta', 'latest') or nil) or 0
  if now > latest + 1000 then redis.call('HSET', root .. 'meta', 'latest', now) end
end
