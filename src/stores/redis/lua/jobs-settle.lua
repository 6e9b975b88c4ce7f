-- include: log notes lanes latest bury
-- Stores the outcomes of claims and makes the next jobs of their lanes ready, or renews the leases
-- of the claims.
--
-- ARGV[3]   queue
-- ARGV[4…]  per claim: job id; token; outcome (`done`, `retry`, `release`, `dead`, `hold`) or
--           `renew`; notes as JSON lines or empty. Then for `done`: the result as JSON or empty.
--           For all others three values: delay or lease in ms; error as JSON or empty; reason of a
--           dead letter or empty
-- Returns   per claim 1, or 0 if it is lost
-- Guarantees: atomic; repeated after a lost reply, it changes nothing and returns 0.
local queue = open_queue(ARGV[3])
local base = queue.base
local names, changed, answers, settled = {}, false, {}, {}

note_clock()

local function wait(id, group, delay, score)
  if delay > 0 then
    add_later(queue, base .. 'delayed', now + delay, id)
  else
    make_ready(queue, id, group, score)
  end
  changed = true
end

-- The end is kept for those with `notify`, and for retried dead letters without a message, whose
-- history would have it.
local function finish(id, lane, group, is_kept, outcome, result)
  if leave_lane(queue, id, lane, group) then changed = true end
  if not is_kept then return end
  names[#names + 1] = 'job:' .. id
  if outcome == 'done' then
    redis.call('SET', base .. 'done:' .. id, now .. ' ' .. result, 'EX', RESULT_TTL)
  end
end

-- The expiry of each claim by job id; false if it has expired.
local function held_claims(claims)
  local ids, held = {}, {}
  for each, i in ipairs(claims) do ids[each] = ARGV[i] end
  if #ids == 0 then return held end
  for each, score in ipairs(redis.call('ZMSCORE', base .. 'claims', unpack(ids))) do held[ids[each]] = score end
  return held
end

local function settle(i, claimed)
  local id, token, outcome, notes = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local is_done = outcome == 'done'
  local delay, error = is_done and 0 or tonumber(ARGV[i + 4]), is_done and '' or ARGV[i + 5]
  local key = base .. 'job:' .. id
  local job = redis.call('HMGET', key, 'k', 'l', 'g', 'v', 'n', 'e', 'o', 'm')
  local lane, group, position = job[2], job[3], job[4]
  if job[1] ~= token or settled[id] then return 0 end
  if outcome == 'renew' then
    if claimed then add_later(queue, base .. 'claims', now + delay, id) end
    return claimed and 1 or 0
  end
  settled[id] = true
  if claimed then
    remove_later(queue, base .. 'claims', id)
  else
    -- An expired claim is still valid until another worker claims the job.
    remove_later(queue, base .. 'ready:' .. group, id)
    redis.call('HINCRBY', key, 'x', -1)
  end
  if position and notes ~= '' then add_notes(position, notes) end
  if error ~= '' then
    redis.call('HSET', key, 'e', (job[6] and string.sub(job[6], 1, -2) .. ',' or '[') .. error .. ']')
  end
  if outcome == 'retry' or outcome == 'release' or outcome == 'hold' then redis.call('HDEL', key, 'k') end
  if outcome == 'retry' then
    redis.call('HINCRBY', key, 'f', 1)
    wait(id, group, delay, next_sequence(queue))
  elseif outcome == 'hold' then
    add_later(queue, base .. 'held', 0, id)
  elseif outcome == 'release' then
    wait(id, group, delay, added_at(queue, id))
  else
    if outcome == 'dead' then bury(queue, id, ARGV[i + 6]) end
    finish(id, lane, group, job[5] or (job[7] and not job[8]), outcome, ARGV[i + 4])
  end
  return 1
end

-- Index of each claim in ARGV.
local claims, place = {}, 4
while place <= #ARGV do
  claims[#claims + 1] = place
  place = place + (ARGV[place + 2] == 'done' and 5 or 7)
end
local held = held_claims(claims)
for each, i in ipairs(claims) do answers[each] = settle(i, held[ARGV[i]]) end
flush_notes()
flush(queue)
if changed then names[#names + 1] = 'jobs:' .. queue.name end
signal(names)
return answers
