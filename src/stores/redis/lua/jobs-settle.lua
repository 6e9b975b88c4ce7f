-- include: log notes lanes
-- Ends claims, each as its outcome says, and lets the next jobs of their lanes run; or renews their leases.
--
-- ARGV[3]  queue
-- ARGV[4…]  per claim eight values: job id; token; outcome (`done`, `retry`, `release`, `dead`), or `renew`;
--           delay, or lease, in ms; error as JSON or empty; reason or empty; result as JSON or empty; notes as JSON lines or empty
-- Returns   per claim 1, or 0 where it is lost
-- Guarantees: all or nothing; repeated after a lost reply it changes nothing (and answers 0).
local queue = open_queue(ARGV[3])
local base = queue.base
local names, changed, answers, settled = {}, false, {}, {}

local function wait(id, group, delay, score)
  if delay > 0 then
    add_later(queue, base .. 'delayed', now + delay, id)
  else
    make_ready(queue, id, group, score)
  end
  changed = true
end

-- Makes a dead letter, as dead.lua describes it.
local function bury(id, reason)
  local key, grave = base .. 'job:' .. id, base .. 'dead:' .. id
  local fields = redis.call('HGETALL', key)
  redis.call('DEL', grave)
  redis.call('HSET', grave, 'y', reason, 'z', now, unpack(fields))
  local position = redis.call('HGET', grave, 'v')
  local found = position and entry_at(position)
  if found then redis.call('HSET', grave, unpack(found[2])) end
  redis.call('ZADD', base .. 'dead', now, id)
end

local function finish(id, lane, group, notify, outcome, result)
  if leave_lane(queue, id, lane, group) then changed = true end
  if not notify then return end
  names[#names + 1] = 'job:' .. id
  if outcome == 'done' then
    redis.call('SET', base .. 'done:' .. id, now .. ' ' .. result, 'EX', WEEK)
  end
end

local function settle(i)
  local id, token, outcome, delay = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  local key = base .. 'job:' .. id
  local job = redis.call('HMGET', key, 'k', 'l', 'g', 'v', 'n', 'e')
  local lane, group, position = job[2], job[3], job[4]
  if job[1] ~= token or settled[id] then return 0 end
  local claimed = redis.call('ZSCORE', base .. 'claims', id)
  if outcome == 'renew' then
    if claimed then add_later(queue, base .. 'claims', now + delay, id) end
    return claimed and 1 or 0
  end
  settled[id] = true
  if claimed then
    remove_later(queue, base .. 'claims', id)
  else
    -- A lease that ran out without another claim is still the holder's.
    remove_later(queue, base .. 'ready:' .. group, id)
    redis.call('HINCRBY', key, 'x', -1)
  end
  if position and ARGV[i + 7] ~= '' then add_notes(position, ARGV[i + 7]) end
  if ARGV[i + 4] ~= '' then
    redis.call('HSET', key, 'e', (job[6] and string.sub(job[6], 1, -2) .. ',' or '[') .. ARGV[i + 4] .. ']')
  end
  if outcome == 'retry' or outcome == 'release' then redis.call('HDEL', key, 'k') end
  if outcome == 'retry' then
    redis.call('HINCRBY', key, 'f', 1)
    wait(id, group, delay, next_sequence(queue))
  elseif outcome == 'release' then
    wait(id, group, delay, added_at(queue, id))
  else
    if outcome == 'dead' then bury(id, ARGV[i + 5]) end
    finish(id, lane, group, job[5], outcome, ARGV[i + 6])
  end
  return 1
end

for i = 4, #ARGV, 8 do answers[#answers + 1] = settle(i) end
flush(queue)
if changed then names[#names + 1] = 'jobs:' .. queue.name end
signal(names)
return answers
