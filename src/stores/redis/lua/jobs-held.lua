-- include: lanes
-- Heads of lanes that are not claimable: held jobs of paused routes and skills, and jobs that wait
-- for a time. Keys under `jobs:<queue>:`: `held`, a zset of ids with score 0, and `delayed` (see
-- `lib/lanes.lua`).
--
-- ARGV[3]  queue
-- ARGV[4]  the operation, followed by its arguments:
--          `list` after, limit. `after`: the last id of the previous page, or empty. Returns 1 if
--          there are more, else 0; and {id, lane, group} per job
--          `unhold` ids…  Returns how many of them became ready
--          `hasten` ids…  Makes the delayed ones among these jobs ready (if no ids are given:
--                         up to BATCH delayed jobs), and returns how many
--          `due`        Returns when the next unclaimed job is due (ms), or -1
-- Guarantees: atomic and idempotent.
local queue = open_queue(ARGV[3])
local held, delayed = queue.base .. 'held', queue.base .. 'delayed'
local BATCH = 500

local function list(after, limit)
  local found = {}
  local from = after == '' and '-' or '(' .. after
  local ids = redis.call('ZRANGEBYLEX', held, from, '+', 'LIMIT', 0, limit + 1)
  local more = table.remove(ids, limit + 1)
  for _, id in ipairs(ids) do
    local job = redis.call('HMGET', queue.base .. 'job:' .. id, 'l', 'g')
    if job[1] then
      found[#found + 1] = { id, job[1], job[2] }
    else
      redis.call('ZREM', held, id)
    end
  end
  return { more and 1 or 0, found }
end

local function unhold()
  local count = 0
  for i = 5, #ARGV do
    local id = ARGV[i]
    local group = redis.call('HGET', queue.base .. 'job:' .. id, 'g')
    if redis.call('ZREM', held, id) == 1 and group then
      make_ready(queue, id, group, added_at(queue, id))
      count = count + 1
    end
  end
  flush(queue)
  if count > 0 then signal({ 'jobs:' .. queue.name }) end
  return count
end

-- The delayed ones among the ids in ARGV.
local function named()
  local ids = {}
  for i = 5, #ARGV do
    local due_at = tonumber(redis.call('ZSCORE', delayed, ARGV[i]))
    if due_at and due_at > now then ids[#ids + 1] = ARGV[i] end
  end
  return ids
end

local function hasten()
  local ids = ARGV[5] and named() or redis.call('ZRANGEBYSCORE', delayed, '(' .. now, '+inf', 'LIMIT', 0, BATCH)
  for _, id in ipairs(ids) do
    remove_later(queue, delayed, id)
    local group = redis.call('HGET', queue.base .. 'job:' .. id, 'g')
    if group then make_ready(queue, id, group, next_sequence(queue)) end
  end
  flush(queue)
  if #ids > 0 then signal({ 'jobs:' .. queue.name }) end
  return #ids
end

local function due()
  for _, group in ipairs(redis.call('SMEMBERS', queue.base .. 'groups')) do
    if redis.call('ZCARD', queue.base .. 'ready:' .. group) > 0 then return now end
  end
  return tonumber(redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]) or -1
end

if ARGV[4] == 'hasten' then return hasten() end
if ARGV[4] == 'due' then return due() end
if ARGV[4] == 'list' then return list(ARGV[5], tonumber(ARGV[6])) end
return unhold()
