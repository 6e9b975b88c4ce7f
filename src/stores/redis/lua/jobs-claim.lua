-- include: log notes lanes unheard merge latest
-- Claims due jobs at the heads of free lanes, longest ready first.
--
-- ARGV[3]  queue    ARGV[4]  maximum number    ARGV[5]  lease in ms
-- ARGV[6]  limits per group, as a JSON object
-- ARGV[7…9]  daemon, number of this call, and numbers of unanswered calls, as in `lib/unheard.lua`.
--           Here the tokens are the record: jobs of unanswered calls are released, and count as
--           neither failed nor lost
-- ARGV[10]  ids of jobs whose messages the caller has in memory, because it added them as a pump;
--           separated by spaces
-- ARGV[11]  how to treat busy lanes, per group: a JSON object of {merge: `collected` or
--           `superseded`, settle: ms}
-- Returns  ms until something may become claimable without a signal, or -1; 1 if other jobs are
--          due, else 0; and the jobs, each {id, token, fields as a flat list, entry of its message
--          (false if the caller has it or it was removed)}, or {id, token} if the job is unchanged
--          since the caller added it
-- Guarantees: a job is claimed by one caller until its lease expires.
if is_given_up(ARGV[7], ARGV[8]) then return GIVEN_UP end
for_each_unheard(ARGV[7], ARGV[9], function() end)
note_clock()
local queue = open_queue(ARGV[3])
local base, max = queue.base, tonumber(ARGV[4])
local limits = cjson.decode(ARGV[6])
local busy, names = cjson.decode(ARGV[11]), {}
local known = {}
for id in string.gmatch(ARGV[10], '%S+') do known[id] = true end

local function to_ready(id, score)
  local group = redis.call('HGET', base .. 'job:' .. id, 'g')
  if group then make_ready(queue, id, group, score) end
end

local function give_back_unheard()
  local unheard = {}
  for number in string.gmatch(ARGV[9], '%d+') do unheard[ARGV[7] .. ' ' .. number] = true end
  for _, id in ipairs(redis.call('ZRANGE', base .. 'claims', 0, -1)) do
    local token = redis.call('HGET', base .. 'job:' .. id, 'k')
    if token and unheard[string.match(token, '^[^.]+')] then
      redis.call('ZREM', base .. 'claims', id)
      redis.call('HDEL', base .. 'job:' .. id, 'k')
      to_ready(id, added_at(queue, id))
    end
  end
end

-- Makes the due heads of a set ready; `score_of` gives their order.
local function wake_due(set, score_of)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. set, '-inf', now, 'LIMIT', 0, 500)) do
    redis.call('ZREM', base .. set, id)
    to_ready(id, score_of(id))
  end
end

-- Whether other jobs are ready, within the limits.
local more

-- The longest-ready heads of all groups, each group within its limit.
local function candidates()
  local found = {}
  for _, group in ipairs(redis.call('SMEMBERS', base .. 'groups')) do
    local limit = math.max(0, math.min(max, tonumber(limits[group]) or max))
    local ready = redis.call('ZRANGE', base .. 'ready:' .. group, 0, limit, 'WITHSCORES')
    if #ready == 0 then redis.call('SREM', base .. 'groups', group) end
    more = more or #ready > 2 * limit
    for i = 1, math.min(#ready, 2 * limit), 2 do
      found[#found + 1] = { id = ready[i], score = tonumber(ready[i + 1]), group = group }
    end
  end
  table.sort(found, function(a, b)
    if a.score ~= b.score then return a.score < b.score end
    return a.id < b.id
  end)
  return found
end

-- The job to claim for a lane whose head is a candidate. If the lane merges: its newest job, after
-- the others were merged into it. Nil while the lane waits to settle.
local function chosen(candidate)
  local how = busy[candidate.group]
  if not how then return candidate.id end
  local lane = redis.call('HGET', base .. 'job:' .. candidate.id, 'l')
  local jobs = untouched(queue, lane, candidate.group, 0)
  local newest = jobs[#jobs]
  if not newest then return candidate.id end
  local settle = how.settle or 0
  local due = math.min(time_of(newest.entry) + settle, time_of(jobs[1].entry) + 10 * settle)
  if settle > 0 and due > now then
    add_later(queue, base .. 'delayed', due, candidate.id)
    return nil
  end
  if not how.merge then return candidate.id end
  jobs[#jobs] = nil
  merge(queue, lane, jobs, newest.id, how.merge, names)
  return newest.id
end

-- Number of fields of an untouched job: l, g, m and v.
local UNTOUCHED_FIELDS = 4

local function claim(id, token)
  local key = base .. 'job:' .. id
  if known[id] and redis.call('HLEN', key) == UNTOUCHED_FIELDS then
    redis.call('HSET', key, 'k', token)
    add_later(queue, base .. 'claims', now + ARGV[5], id)
    return { id, token }
  end
  local fields = redis.call('HGETALL', key)
  redis.call('HSET', key, 'k', token)
  add_later(queue, base .. 'claims', now + ARGV[5], id)
  local position
  for i = 1, known[id] and 0 or #fields, 2 do
    if fields[i] == 'v' then position = fields[i + 1] end
  end
  return { id, token, fields, position and entry_at(position) or false }
end

local function next_due()
  local soonest = -1
  for _, key in ipairs({ 'claims', 'delayed' }) do
    local first = tonumber(redis.call('ZRANGE', base .. key, 0, 0, 'WITHSCORES')[2])
    if first and (soonest < 0 or first - now < soonest) then soonest = math.max(0, first - now) end
  end
  return soonest
end

if ARGV[9] ~= '' then give_back_unheard() end
wake_due('claims', function(id)
  redis.call('HINCRBY', base .. 'job:' .. id, 'x', 1)
  return added_at(queue, id)
end)
wake_due('delayed', function() return next_sequence(queue) end)
flush(queue)
local claimed, bytes, waiting = {}, 0, false
repeat
  waiting, more = false, false
  for _, candidate in ipairs(candidates()) do
    if #claimed >= max or bytes > LARGE then
      more = true
      break
    end
    remove_later(queue, base .. 'ready:' .. candidate.group, candidate.id)
    local id = chosen(candidate)
    if id then
      local job = claim(id, ARGV[7] .. ' ' .. ARGV[8] .. '.' .. #claimed)
      bytes = bytes + (job[4] and #job[4][2][4] or 0)
      claimed[#claimed + 1] = job
      local limit = tonumber(limits[candidate.group])
      if limit then limits[candidate.group] = limit - 1 end
    else
      waiting = true
    end
  end
  flush(queue)
-- Heads that wait to settle are no candidates any more: others may be claimed in their place.
until not waiting
signal(names)
return { next_due(), more and 1 or 0, claimed }
