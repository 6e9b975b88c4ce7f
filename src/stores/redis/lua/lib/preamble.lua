-- Stands before every script.
--
-- KEYS[1]  root: the prefix of all keys that the script touches, with the hash tag that puts them on
--          one slot, such as `{trivium}:`. Keys are made from it.
-- KEYS[2]  one more key of that slot. As no key is called like the root, a cluster that is moving the slot never has
--          both, and answers TRYAGAIN: a script would find some of its keys here and make the others anew.
-- ARGV[1]  the time (Unix ms), or empty for the clock of the Redis server: one clock for all daemons
-- ARGV[2]  the channel of the signals
local root, channel = KEYS[1], ARGV[2]
-- How many bytes of messages are read before a script answers with fewer than were asked for; seconds.
local LARGE, WEEK = 4000000, 7 * 24 * 3600

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local now = clock()

-- What a daemon listens to only now and then. Where there are several shards, whose channels end with `/<shard>`, these
-- have channels of their own: of many daemons few have to do with a message.
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
