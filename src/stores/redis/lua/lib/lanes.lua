-- Jobs in lanes. Keys under `jobs:<queue>:`
--   job:<id>       hash: l lane, g group, m message id, v its position, d data, n notify,
--                  f failures, x lost claims, e errors (JSON list), k token of the claim,
--                  q when it was last retried as a dead letter, o when it first died and the errors
--                  until then (JSON: [time, list]), w messages merged into it (see
--                  merge.lua), h and p the message itself if it was a dead letter; if its retry
--                  can be undone: u by whom, uz and uy the time and reason of the dead letter, ue
--                  and uq its errors and last retry if it was not in its first run
--   lane:<lane>    list of job ids; only its head may be ready, held, delayed or claimed
--   ready:<group>  zset of ready heads, in the order in which they became ready
--   groups         set of groups
--   held           zset of heads that are not claimed until they are released, with score 0
--   delayed        zset of heads by the time at which they are due
--   claims         zset of claimed heads by expiry
--   all            zset of all ids by sequence
-- Keys under the root: `queues` (set of queues), `needs` (zset by position: messages that
-- unfinished jobs need). JOB_ARGS, BRIEF_ARGS: number of arguments per job, see `add_job`.
local JOB_ARGS, BRIEF_ARGS = 8, 5

-- A queue during one script. Changes of sorted sets are collected, and written together by `flush`,
-- which every script must call before it reads these sets and before it ends.
local function open_queue(name)
  local base = root .. 'jobs:' .. name .. ':'
  local sequence = tonumber(redis.call('GET', base .. 'sequence') or 0)
  return { name = name, base = base, sequence = sequence, begun = sequence, adds = {}, removes = {} }
end

local function add_later(queue, key, score, member)
  local list = queue.adds[key] or {}
  queue.adds[key], list[#list + 1], list[#list + 2] = list, score, member
end

local function remove_later(queue, key, member)
  local list = queue.removes[key] or {}
  queue.removes[key], list[#list + 1] = list, member
end

-- `inBatches` (batches.ts) limits the number of changes, because Lua's stack limits the arguments
-- of a call.
local function flush(queue)
  for key, list in pairs(queue.removes) do redis.call('ZREM', key, unpack(list)) end
  for key, list in pairs(queue.adds) do redis.call('ZADD', key, unpack(list)) end
  queue.adds, queue.removes = {}, {}
  if queue.sequence > queue.begun then
    redis.call('SET', queue.base .. 'sequence', queue.sequence)
    redis.call('SADD', root .. 'queues', queue.name)
  end
  queue.begun = queue.sequence
end

local function next_sequence(queue)
  queue.sequence = queue.sequence + 1
  return queue.sequence
end

-- The sequence of a job. Jobs that became ready later have a higher one, so a released job is the
-- longest ready again.
local function added_at(queue, id)
  return redis.call('ZSCORE', queue.base .. 'all', id)
end

local known_groups = {}

local function make_ready(queue, id, group, score)
  add_later(queue, queue.base .. 'ready:' .. group, score, id)
  if known_groups[group] then return end
  known_groups[group] = true
  redis.call('SADD', queue.base .. 'groups', group)
end

local function append_to_lane(queue, id, lane, group, position)
  add_later(queue, queue.base .. 'all', next_sequence(queue), id)
  if position ~= '' then add_later(queue, root .. 'needs', position, queue.name .. ' ' .. id) end
  if redis.call('RPUSH', queue.base .. 'lane:' .. lane, id) == 1 then make_ready(queue, id, group, next_sequence(queue)) end
end

-- Whether there is an unfinished job with the id in ARGV[i].
local function is_alive(queue, i)
  return redis.call('EXISTS', queue.base .. 'job:' .. ARGV[i]) == 1
end

-- Adds the job in ARGV from index `i` on: id, lane, group, position of its message or empty, `1`
-- for notify or empty; and, if not in brief form, message id or empty, data as JSON or empty,
-- digest or empty. In brief form, the message has the id of the job. There must be no unfinished
-- job with that id.
local function add_job(queue, i, is_brief)
  local id, position = ARGV[i], ARGV[i + 3]
  local fields = { 'l', ARGV[i + 1], 'g', ARGV[i + 2] }
  local function put(name, value)
    if value == '' then return end
    fields[#fields + 1], fields[#fields + 2] = name, value
  end
  put('m', is_brief and id or ARGV[i + 5])
  put('v', position)
  put('n', ARGV[i + 4])
  if not is_brief then put('d', ARGV[i + 6]) end
  redis.call('HSET', queue.base .. 'job:' .. id, unpack(fields))
  append_to_lane(queue, id, ARGV[i + 1], ARGV[i + 2], position)
end

-- Removes a finished job from its lane and makes the next one ready. Returns whether there is one.
local function leave_lane(queue, id, lane, group)
  local base = queue.base
  redis.call('DEL', base .. 'job:' .. id)
  remove_later(queue, base .. 'all', id)
  remove_later(queue, root .. 'needs', queue.name .. ' ' .. id)
  redis.call('LREM', base .. 'lane:' .. lane, 1, id)
  local head = redis.call('LINDEX', base .. 'lane:' .. lane, 0)
  if not head then return false end
  make_ready(queue, head, redis.call('HGET', base .. 'job:' .. head, 'g'), next_sequence(queue))
  return true
end
