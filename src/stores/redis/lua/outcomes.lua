-- include: log
-- The outcomes of messages: of dispatch, and of their replies. Writes nothing. A message before the
-- dispatch cursor that has no job and no note had no route.
--
-- ARGV[3…]  four values per message: its id, and the position, time and tail in it
-- Returns   per message an `Outcome` of src/core/message-query.ts, empty if it is not retained
local base = root .. 'jobs:dispatch:'
local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
local OUTCOME_OF = {
  done = 'done', dead = 'dropped', unrouted = 'unrouted',
  ['waits for an approval'] = 'approval', ['handled by a person'] = 'dropped',
  collected = 'merged', superseded = 'merged', steered = 'merged',
}
local DECIDED = { approved = true, denied = true, expired = true }
local ENDING = { ['send failed'] = true, sent = true, suppressed = true, ['not sent'] = true, dead = true }
-- Cache of lists: messages that are close together share one.
local lists = {}

local function notes_near(position)
  local key = root .. 'notes:' .. math.floor(position / 32)
  lists[key] = lists[key] or redis.call('LRANGE', key, 0, -1)
  return lists[key]
end

-- The outcome of a job or dead letter of dispatch; nil if there is none.
local function job_outcome(id)
  if redis.call('EXISTS', base .. 'dead:' .. id) == 1 then return 'dead' end
  local job = redis.call('HMGET', base .. 'job:' .. id, 'l', 'k', 'f')
  if job[2] then return 'running' end
  if job[1] then return (tonumber(job[3]) or 0) > 0 and 'retrying' or 'waiting' end
end

-- The outcome of dispatch by the last note. After the decision about an approval, the message has
-- another job, with the id `MESSAGE:APPROVAL`.
local function last_outcome(id, position)
  local lines, mark, wasDead = notes_near(position), position .. ' ', false
  for i = #lines, 1, -1 do
    if string.sub(lines[i], 1, #mark) == mark then
      local what = string.match(lines[i], '^%d+ %[[%d.e+-]+,"d","([^"]*)"')
      if what and DECIDED[what] then
        local approval = string.match(lines[i], '"approval":"([^"]+)"')
        local job = approval and job_outcome(id .. ':' .. approval)
        return job or (wasDead and OUTCOME_OF.dead) or 'waiting'
      end
      if what == 'dead' or what == 'dropped' then wasDead = true end
      if what and not wasDead and OUTCOME_OF[what] then return OUTCOME_OF[what] end
    end
  end
  return wasDead and OUTCOME_OF.dead or nil
end

-- The outcome of the reply. A bounce takes precedence over other replies; a failed attempt counts
-- until a later attempt ends the reply. `not sent` is no outcome: the gateway cannot reply.
-- `not delivered`, a mail to the sender, is noted when its dead letter is dropped, with the time of
-- the mail.
local function answered(position)
  local found, mark, last = {}, position .. ' ', nil
  for _, line in ipairs(notes_near(position)) do
    if string.sub(line, 1, #mark) == mark then
      local at, what = string.match(line, '^%d+ %[([%d.e+-]+),"o","([^"]*)"')
      if what then found[what] = math.max(tonumber(at), found[what] or 0) end
      if what and ENDING[what] then last = what end
    end
  end
  if found.bounced then return 'bounced' end
  if found.suppressed and not found.sent then return 'suppressed' end
  local mailed = found['not delivered']
  if mailed and mailed >= (found.sent or 0) then return 'undelivered' end
  return last == 'send failed' and 'replying' or last == 'dead' and 'undelivered' or nil
end

local function outcome(id, position, time, tail)
  local job = job_outcome(id)
  if job then return job end
  if not entry_with_id(position, time, tail) then return '' end
  local dispatched = last_outcome(id, position) or (tonumber(position) <= cursor and 'unrouted' or 'waiting')
  return (dispatched == 'done' or dispatched == 'unrouted') and answered(position) or dispatched
end

local found = {}
for i = 3, #ARGV, 4 do found[#found + 1] = outcome(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
return found
