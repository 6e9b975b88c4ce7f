-- The beginning of every script.
--
-- KEYS[1]  root: the prefix of all keys of the script, with the hash tag that puts them on one
--          slot, such as `{trivium}:`
-- KEYS[2]  another key of that slot. No key has the name of the root: while a cluster moves the
--          slot, one of the two keys is always missing, and it answers TRYAGAIN. With one key, a
--          script could find only some of its keys, and create the others again.
-- ARGV[1]  the time (Unix ms), or empty for the clock of the Redis server, which is the same for
--          all daemons
-- ARGV[2]  the channel of the signals
local root, channel = KEYS[1], ARGV[2]
-- Bytes of messages after which a script returns fewer than requested.
local LARGE = 4000000
-- Lifetimes in seconds, as in core/lifetimes.ts.
local KEY_TTL, RESULT_TTL, UNUSED_TTL, WORKERS_TTL = 604800, 604800, 604800, 604800

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local now = clock()

-- Signals that a daemon needs only at times. With several shards (channel names that end with
-- `/<shard>`), they have channels of their own, so that a message does not wake all daemons.
local APART = {
  journal = '/dispatch',
  ['jobs:dispatch'] = '/dispatch',
  receive = '/receive',
  ['topic:gateway-message'] = '/events',
}

local function signal(names)
  local lists = {}
  local is_shard = string.find(channel, '/%d+$')
  for _, name in ipairs(names) do
    local to = channel .. (is_shard and APART[name] or '')
    lists[to] = lists[to] or {}
    table.insert(lists[to], name)
  end
  for to, list in pairs(lists) do redis.call('PUBLISH', to, cjson.encode(list)) end
end
