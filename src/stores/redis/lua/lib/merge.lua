-- Merges messages into the call of another message of their lane, instead of running their own
-- jobs. Needs log, notes and lanes. Field w of a job has the merged messages, oldest first, as a
-- JSON list of {position, head, payload}. In groups that merge, a job has the field (possibly
-- empty) from its first claim on, and is then not merged into another.

-- History entries: of a merged message (key), and of the message whose call takes it (value).
local INTO_NOTES = { collected = 'collects', superseded = 'supersedes', steered = 'is steered' }

-- The verified sender of a message, as `identityOf` returns it; empty for unverified senders, who
-- all have the same (no) rights. False if cjson cannot parse the message, for example because of
-- half a surrogate pair: it is not merged.
local function sender_of(entry)
  local ok, stored = pcall(cjson.decode, string.match(entry[2][4], '^[^\n]*'))
  local from = ok and type(stored) == 'table' and stored.from
  if type(from) ~= 'table' then return false end
  local name, is_external = tostring(from.address or from.id), from.external == true
  -- A name that begins with `external:` would look like a person of another workspace.
  local is_unclear = not is_external and string.sub(name, 1, 9) == 'external:'
  if from.verified ~= true or is_unclear then return '' end
  return (is_external and 'external:' or '') .. name
end

-- The unclaimed jobs of a lane from an index on (0: the head), with one message each, of one group
-- and one sender (default: that of the first job), up to the size of one call.
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

-- Removes untouched jobs from their lane and adds their messages to the job `into`. Adds the
-- signals of the ends of these jobs to `names`. Returns the messages in the form of field w.
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
      redis.call('SET', queue.base .. 'done:' .. job.id, now .. ' {"outcome":"done","replies":0}', 'EX', RESULT_TTL)
      names[#names + 1] = 'job:' .. job.id
    end
  end
  redis.call('HSET', key, 'w', #kept > 0 and cjson.encode(kept) or '[]')
  if #ids > 0 then add_note(target[3], cjson.encode({ now, 'd', INTO_NOTES[what], { messages = ids } })) end
  return taken
end
