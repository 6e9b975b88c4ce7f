-- include: lanes
-- Dead letters. Keys under `jobs:<queue>:`
--   dead         zset of ids by time of death
--   dead:<id>    hash: the fields of the job, y reason, z time of death (ms), and the message as h
--                and p, as in log.lua
--
-- ARGV[3]  the operation, followed by its arguments:
--          `list` queue or empty, group or empty, limit, time and id after which to continue or
--          empty. Returns {1 if there are more, else 0; letters, newest first by time and then id,
--          each {queue, id, reason, fields as a flat list}; fewer than the limit if they are large}
--          `ids`  Returns all ids
--          `get` id, queue or empty. Returns a letter, or false
--          `retry` id, queue or empty, who may undo it or empty. Puts the job at the end of its
--          lane, with its message and all attempts. Returns 1, or 0 if there is no such letter, or an unfinished job with its
--          id
--          `drop` id, queue or empty. Returns 1 if it was removed, 0 if there is no such letter
local what, id = ARGV[3], ARGV[4]
local queues = redis.call('SMEMBERS', root .. 'queues')

local function base_of(queue) return root .. 'jobs:' .. queue .. ':' end

local function letter(queue, each)
  local key = base_of(queue) .. 'dead:' .. each
  return { queue, each, redis.call('HGET', key, 'y'), redis.call('HGETALL', key) }
end

-- The queue of the newest dead letter with the id, in one queue or in all; nil if there is none.
local function queue_of(only)
  local found, newest
  for _, queue in ipairs(only ~= '' and { only } or queues) do
    local at = tonumber(redis.call('ZSCORE', base_of(queue) .. 'dead', id) or nil)
    if at and (not newest or at > newest) then found, newest = queue, at end
  end
  return found
end

local function retry(queue, by)
  local base = queue.base
  local key = base .. 'job:' .. id
  if redis.call('EXISTS', key) == 1 then return 0 end
  redis.call('RENAME', base .. 'dead:' .. id, key)
  redis.call('ZREM', base .. 'dead', id)
  local first = redis.call('HMGET', key, 'z', 'e', 'y', 'o', 'q')
  redis.call('HDEL', key, 'u', 'uz', 'uy', 'ue', 'uq')
  if by and by ~= '' then
    redis.call('HSET', key, 'u', by, 'uz', first[1], 'uy', first[3])
    if first[4] then redis.call('HSET', key, 'ue', first[2] or '[]', 'uq', first[5] or '0') end
  end
  redis.call('HSETNX', key, 'o', '[' .. first[1] .. ',' .. (first[2] or '[]') .. ']')
  redis.call('HDEL', key, 'y', 'z', 'f', 'x', 'e', 'k')
  redis.call('HSET', key, 'q', now)
  local job = redis.call('HMGET', key, 'l', 'g', 'v')
  append_to_lane(queue, id, job[1], job[2], job[3] or '')
  flush(queue)
  signal({ 'jobs:' .. queue.name })
  return 1
end

-- Compares bytes, because `<` follows the locale of the server.
local function is_less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function is_before(letter, at, other)
  return letter.at < at or (letter.at == at and is_less(letter.id, other))
end

local function list(queue, group, limit, before_at, before_id)
  local found, letters = {}, {}
  for _, each in ipairs(queue ~= '' and { queue } or queues) do
    local last = group == '' and not before_at and limit or -1
    local ids = redis.call('ZREVRANGE', base_of(each) .. 'dead', 0, last, 'WITHSCORES')
    for i = 1, #ids, 2 do
      local place = { queue = each, id = ids[i], at = tonumber(ids[i + 1]) }
      if (not before_at or is_before(place, before_at, before_id))
        and (group == '' or redis.call('HGET', base_of(each) .. 'dead:' .. ids[i], 'g') == group) then
        found[#found + 1] = place
      end
    end
  end
  table.sort(found, function(a, b) return is_before(b, a.at, a.id) end)
  local bytes = 0
  for i = 1, math.min(limit, #found) do
    if bytes > LARGE then break end
    letters[i] = letter(found[i].queue, found[i].id)
    bytes = bytes + redis.call('HSTRLEN', base_of(found[i].queue) .. 'dead:' .. found[i].id, 'p')
  end
  return { #letters < #found and 1 or 0, letters }
end

if what == 'ids' then
  local ids = {}
  for _, queue in ipairs(queues) do
    for _, each in ipairs(redis.call('ZRANGE', base_of(queue) .. 'dead', 0, -1)) do ids[#ids + 1] = each end
  end
  return ids
end
if what == 'list' then return list(ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]) end
local queue = queue_of(ARGV[5])
if not queue then return what ~= 'get' and 0 end
if what == 'get' then return letter(queue, id) end
if what == 'retry' then return retry(open_queue(queue), ARGV[6]) end
redis.call('DEL', base_of(queue) .. 'dead:' .. id)
return redis.call('ZREM', base_of(queue) .. 'dead', id)
