-- Notes the time by which something will wait, to the second, so that a clock that was ahead and is set back is noticed, however
-- short it was ahead: see clock.lua.
local function note_clock()
  local latest = tonumber(redis.call('HGET', root .. 'meta', 'latest') or nil) or 0
  if now > latest + 1000 then redis.call('HSET', root .. 'meta', 'latest', now) end
end
