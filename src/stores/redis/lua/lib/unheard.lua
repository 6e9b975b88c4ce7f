-- Protects consuming calls against lost replies. Each call leaves a record of what it handed out,
-- under its number, in the hash `handed:<daemon>`. If a caller gets no answer, it reports the
-- number in its next call, and the contents of the record are taken back. The emptied record then
-- makes a late duplicate of the call (from a socket buffer, or resent by the client library) fail.
-- Later calls overwrite records: there are more slots than concurrent calls.
local HANDED_SECONDS, SLOTS = 24 * 3600, 4096

local function remember_handed(daemon, number, record)
  local key = root .. 'handed:' .. daemon
  redis.call('HSET', key, number % SLOTS, number .. ' ' .. cmsgpack.pack(record))
  redis.call('EXPIRE', key, HANDED_SECONDS)
end

-- Calls `take_back` with the records of unanswered calls; `list` has their numbers.
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

-- Whether the caller has already reported this call as unanswered.
local function is_given_up(daemon, number)
  return redis.call('HGET', root .. 'handed:' .. daemon, number % SLOTS) == number .. ' '
end
local GIVEN_UP = { err = 'ERR the caller has given up this call' }
