-- What was handed out for good is remembered until its caller has heard it: a call that consumes leaves
-- a record with its number in its daemon's hash `handed:<daemon>`. A caller that got no answer names the
-- number in its next call, and what the record holds is taken back; what is left of it then tells a call
-- that comes only now, from a socket or sent again by the client library, that nobody waits for it any more.
-- Later calls write over the records: there are more slots than calls under way at once.
local HANDED_SECONDS, SLOTS = 24 * 3600, 4096

local function remember_handed(daemon, number, record)
  local key = root .. 'handed:' .. daemon
  redis.call('HSET', key, number % SLOTS, number .. ' ' .. cmsgpack.pack(record))
  redis.call('EXPIRE', key, HANDED_SECONDS)
end

-- Calls `take_back` with each record that the caller never heard: `list` has their numbers.
local function for_each_unheard(daemon, list, take_back)
  local key = root .. 'handed:' .. daemon
  for number in string.gmatch(list, '%d+') do
    local stored = redis.call('HGET', key, number % SLOTS)
    if stored and #stored > #number + 1 and string.sub(stored, 1, #number + 1) == number .. ' ' then
      take_back(cmsgpack.unpack(string.sub(stored, #number + 2)))
    end
    redis.call('HSET', key, number % SLOTS, number .. ' ')
  end
  if list ~= '' then redis.call('EXPIRE', key, HANDED_SECONDS) end
end

-- Whether the caller of this very call has given it up.
local function is_given_up(daemon, number)
  return redis.call('HGET', root .. 'handed:' .. daemon, number % SLOTS) == number .. ' '
end
local GIVEN_UP = { err = 'ERR nobody waits for this call any more' }
