-- include: whole log seen lanes
-- Adds jobs to a queue. With a cursor it is a step of the pump, and also moves the dispatch cursor
-- if nobody else has moved it.
--
-- ARGV[3]    queue
-- ARGV[4]    the cursor as it was read, or empty if the jobs are not from the pump
-- ARGV[5…7]  position, time and tail of the message to which the cursor moves, or empty
-- ARGV[8…]   jobs, as `add_job` takes them, in brief form if they are from the pump; jobs with a
--            digest are added once within seven days
-- Returns    per job 1 if it was added, else 0; false if another daemon moved the cursor, or if a
--            message that this daemon has in memory was lost or erased
-- Guarantees: atomic, even if a command fails half-way; repeated after a lost reply, it adds
--          nothing.
local is_pump = ARGV[4] ~= ''
if is_pump then
  local meta = redis.call('HMGET', root .. 'meta', 'cursor', 'erased')
  if (meta[1] or '0') ~= ARGV[4] or not entry_with_id(ARGV[5], ARGV[6], ARGV[7]) then return false end
  -- Another daemon may have erased messages that this one has in memory.
  if tonumber(meta[2] or 0) > tonumber(ARGV[4]) then
    for i = 8, #ARGV, BRIEF_ARGS do
      if not entry_at(ARGV[i + 3]) then return false end
    end
  end
end
local queue = open_queue(ARGV[3])
local seen = queue.base .. 'seen:'
-- Indices in ARGV of the jobs that this call began to add, for `undo`.
local begun = {}

local function digest_of(i)
  return is_pump and '' or ARGV[i + 7]
end

local function add_all()
  local answers = {}
  for i = 8, #ARGV, is_pump and BRIEF_ARGS or JOB_ARGS do
    local digest, answer = digest_of(i), 0
    if not (digest ~= '' and seen_get(seen, digest)) and not is_alive(queue, i) then
      begun[#begun + 1] = i
      add_job(queue, i, is_pump)
      if digest ~= '' then seen_put(seen, digest, '') end
      answer = 1
    end
    answers[#answers + 1] = answer
  end
  flush(queue)
  if is_pump then redis.call('HSET', root .. 'meta', 'cursor', ARGV[5]) end
  return answers
end

local function undo()
  for _, i in ipairs(begun) do
    local id, lane, group, digest = ARGV[i], ARGV[i + 1], ARGV[i + 2], digest_of(i)
    redis.pcall('DEL', queue.base .. 'job:' .. id)
    redis.pcall('LREM', queue.base .. 'lane:' .. lane, -1, id)
    redis.pcall('ZREM', queue.base .. 'all', id)
    redis.pcall('ZREM', queue.base .. 'ready:' .. group, id)
    redis.pcall('ZREM', root .. 'needs', queue.name .. ' ' .. id)
    if digest ~= '' then redis.pcall('HDEL', seen_bucket(seen, digest), string.sub(digest, 3)) end
  end
end

local answers, failure = whole(add_all, undo)
if not answers then return { err = failure } end
if #begun > 0 then signal({ 'jobs:' .. queue.name }) end
return answers
