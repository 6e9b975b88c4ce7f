-- include: log notes ready available lanes remove groups
-- Finds and removes the data of a person.
--
-- ARGV[3]  the operation, followed by its arguments:
--          `messages` position, time and tail of ids…  Removes messages with their history, their
--          jobs and their places on the roads. Returns how many existed
--          `events` position…  Removes events of a topic. Returns how many existed
--          `jobs` queue, id…  Removes unfinished jobs and stored results. Returns how many jobs
--          existed
--          `unfinished` queue, the last sequence already listed, limit. Returns {sequence, id,
--          fields as a flat list} per job
--          `note` the number of a list, a line, the new line  Replaces a line of a history. Returns
--          how many existed
-- Guarantees: idempotent.
local what, removed = ARGV[3], 0
local journal = root .. 'journal'

local function forget_history(position)
  local key, mark = notes_of(position), position .. ' '
  for _, line in ipairs(redis.call('LRANGE', key, 0, -1)) do
    if string.sub(line, 1, #mark) == mark then redis.call('LREM', key, 0, line) end
  end
end

-- `erased` in `meta`: the newest position from which a message was erased; see jobs-add.lua.
local function note_erased(position)
  local before = tonumber(redis.call('HGET', root .. 'meta', 'erased') or 0)
  if tonumber(position) > before then redis.call('HSET', root .. 'meta', 'erased', position) end
end

-- Remembers that an event was erased. Groups that hold it report it as missed.
local function note_position(position)
  redis.call('ZADD', root .. 'erased', position, position)
  for _, group in ipairs(redis.call('SMEMBERS', root .. 'odd')) do
    local keys = keys_of(group)
    local held = redis.call('ZREM', keys.hidden, position) + redis.call('ZREM', keys.back, position)
    if held > 0 then redis.call('INCRBY', keys.missed, held) end
    redis.call('HDEL', keys.deliveries, position)
    redis.call('HDEL', keys.rounds, position)
  end
  removed = removed + 1
end

local function forget_first()
  redis.call('ZREMRANGEBYSCORE', root .. 'erased', '-inf', first_position() - 1)
end

local function remove_message(position, entry)
  note_erased(position)
  local gateway, conversation = origin_of(entry)
  for _, need in ipairs(redis.call('ZRANGEBYSCORE', root .. 'needs', position, position)) do
    local queue, id = string.match(need, '^(%S+) (.*)$')
    remove_job(open_queue(queue), id)
  end
  redis.call('XDEL', journal, position .. '-0')
  if tonumber(position) <= tonumber(redis.call('HGET', root .. 'meta', 'counted') or 0) then
    redis.call('HINCRBY', root .. 'kept', gateway, -1)
  end
  make_unavailable(gateway, conversation, position)
  for _, receipt in ipairs(redis.call('ZRANGEBYSCORE', root .. 'receive-holders', position, position)) do end_lease(receipt) end
  forget_history(position)
  note_position(position)
end

if what == 'messages' then
  for i = 4, #ARGV, 3 do
    local entry = entry_with_id(ARGV[i], ARGV[i + 1], ARGV[i + 2])
    if entry then remove_message(ARGV[i], entry) end
  end
  forget_first()
  return removed
end

if what == 'events' then
  for i = 4, #ARGV do
    if redis.call('XDEL', journal, ARGV[i] .. '-0') == 1 then note_position(ARGV[i]) end
  end
  forget_first()
  return removed
end

if what == 'note' then
  local key = root .. 'notes:' .. ARGV[4]
  local at = redis.call('LPOS', key, ARGV[5])
  if not at then return 0 end
  redis.call('LSET', key, at, ARGV[6])
  return 1
end

local queue = open_queue(ARGV[4])
if what == 'jobs' then
  for i = 5, #ARGV do
    if remove_job(queue, ARGV[i]) then removed = removed + 1 end
    redis.call('DEL', queue.base .. 'done:' .. ARGV[i])
  end
  return removed
end
local found = redis.call('ZRANGEBYSCORE', queue.base .. 'all', '(' .. ARGV[5], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[6])
local answers = {}
for i = 1, #found, 2 do
  answers[#answers + 1] = { found[i + 1], found[i], redis.call('HGETALL', queue.base .. 'job:' .. found[i]) }
end
return answers
