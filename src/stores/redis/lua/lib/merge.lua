-- Messages that go into the call of another one of their lane, in place of jobs of their own. Needs log, notes and lanes.
-- The field w of a job holds them, oldest first, as a JSON list of {position, head, payload}; it is there, perhaps empty,
-- from the first claim on of a job of a group that merges, and such a job goes into no other.

-- What is said of a message that goes, and of the one whose call takes it.
local TELLS = { collected = 'collects', superseded = 'supersedes', steered = 'is steered' }

-- Who wrote a message where there is proof, as `identityOf` has it; empty for all others, who have the same rights: none.
-- False where cjson cannot read it, as half a surrogate pair in a subject: whoever that is, it goes into no other's call.
local function sender_of(entry)
  local ok, stored = pcall(cjson.decode, string.match(entry[2][4], '^[^\n]*'))
  local from = ok and type(stored) == 'table' and stored.from
  if type(from) ~= 'table' then return false end
  if from.verified ~= true then return '' end
  return (from.external == true and 'external:' or '') .. tostring(from.address or from.id)
end

-- The jobs of a lane from a place on (0: the head) that are of one group and one sender (default: the first one's), one
-- message each, and that nobody has claimed; as many as one call can carry.
local function untouched(queue, lane, group, from, sender)
  local found, bytes = {}, 0
  for _, id in ipairs(redis.call('LRANGE', queue.base .. 'lane:' .. lane, from, from + 99)) do
    local job = redis.call('HMGET', queue.base .. 'job:' .. id, 'g', 'm', 'v', 'n', 'w', 'p', 'f', 'x')
    local isTried = job[5] or job[6] or tonumber(job[7] or 0) + tonumber(job[8] or 0) > 0
    local entry = job[3] and job[1] == group and job[2] == id and not isTried and entry_at(job[3])
    bytes = bytes + (entry and #entry[2][4] or 0)
    if not entry or (#found > 0 and bytes > LARGE / 4) then break end
    local who = sender_of(entry)
    if sender == nil then sender = who end
    if not who or who ~= sender then break end
    found[#found + 1] = { id = id, position = job[3], notify = job[4], entry = entry }
  end
  return found
end

-- Takes untouched jobs out of their lane and their messages into the job `into`. Adds the signals of their ends to `names`;
-- returns the messages, as in w.
local function merge(queue, lane, jobs, into, what, names)
  local key = queue.base .. 'job:' .. into
  local target = redis.call('HMGET', key, 'w', 'm', 'v')
  local kept, ids, taken = cjson.decode(target[1] or '[]'), {}, {}
  for i, job in ipairs(jobs) do
    ids[i], taken[i] = job.id, { job.position, job.entry[2][2], job.entry[2][4] }
    kept[#kept + 1] = taken[i]
    add_note(job.position, cjson.encode({ now, 'd', what, { into = target[2] } }))
    redis.call('DEL', queue.base .. 'job:' .. job.id)
    redis.call('LREM', queue.base .. 'lane:' .. lane, 1, job.id)
    remove_later(queue, queue.base .. 'all', job.id)
    remove_later(queue, root .. 'needs', queue.name .. ' ' .. job.id)
    if job.notify then
      redis.call('SET', queue.base .. 'done:' .. job.id, now .. ' {"outcome":"done","replies":0}', 'EX', WEEK)
      names[#names + 1] = 'job:' .. job.id
    end
  end
  redis.call('HSET', key, 'w', #kept > 0 and cjson.encode(kept) or '[]')
  if #ids > 0 then add_note(target[3], cjson.encode({ now, 'd', TELLS[what], { messages = ids } })) end
  return taken
end
