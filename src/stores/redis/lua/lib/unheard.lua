-- What was handed out for good is remembered until its caller has heard it: a call that consumes leaves
-- a record in a slot of its daemon's hash `handed:<daemon>`, under its own number. A caller that got no
-- answer names slot and number in a later call, and what the record holds is taken back. The next call
-- that uses the slot writes over the record.
local HANDED_SECONDS = 24 * 3600

local function remember_handed(daemon, slot, number, record)
  local key = root .. 'handed:' .. daemon
  redis.call('HSET', key, slot, number .. ' ' .. cmsgpack.pack(record))
  redis.call('EXPIRE', key, HANDED_SECONDS)
end

-- Calls `take_back` with each record that the caller never heard: `list` is `slot number slot number …`.
local function for_each_unheard(daemon, list, take_back)
  for slot, number in string.gmatch(list, '(%d+) (%d+)') do
    local stored = redis.call('HGET', root .. 'handed:' .. daemon, slot)
    if stored and string.sub(stored, 1, #number + 1) == number .. ' ' then
      redis.call('HDEL', root .. 'handed:' .. daemon, slot)
      take_back(cmsgpack.unpack(string.sub(stored, #number + 2)))
    end
  end
end
