-- include: log
-- How messages stand on the dispatch road, and what became of their answers. Writes nothing. What the dispatch cursor has passed without a trace was given to
-- no route.
--
-- ARGV[3…]  four for each message: its id, then position, time and tail of that
-- Returns   an `Outcome` of src/core/message-query.ts for each, empty where it is not retained
local base = root .. 'jobs:dispatch:'
local cursor = tonumber(redis.call('HGET', root .. 'meta', 'cursor') or 0)
local TELLING = {
  done = 'done', dead = 'dropped', unrouted = 'unrouted',
  ['waits for an approval'] = 'approval', ['handled by a person'] = 'dropped',
  collected = 'merged', superseded = 'merged', steered = 'merged',
}
local ENDING = { ['send failed'] = true, sent = true, suppressed = true, ['not sent'] = true, dead = true }
-- Messages that are close together have their notes in one list.
local lists = {}

local function notes_near(position)
  local key = root .. 'notes:' .. math.floor(position / 32)
  lists[key] = lists[key] or redis.call('LRANGE', key, 0, -1)
  return lists[key]
end

local function last_told(position)
  local lines, mark = notes_near(position), position .. ' '
  for i = #lines, 1, -1 do
    if string.sub(lines[i], 1, #mark) == mark then
      local what = string.match(lines[i], '^%d+ %[[%d.e+-]+,"d","([^"]*)"')
      if what and TELLING[what] then return TELLING[what] end
    end
  end
end

-- What became of the answer: a bounce counts whatever else was sent, and a failed attempt until another one ends it.
local function answered(position)
  local found, mark, last = {}, position .. ' ', nil
  for _, line in ipairs(notes_near(position)) do
    if string.sub(line, 1, #mark) == mark then
      local what = string.match(line, '^%d+ %[[%d.e+-]+,"o","([^"]*)"')
      if what then found[what] = true end
      if what and ENDING[what] then last = what end
    end
  end
  if found.bounced then return 'bounced' end
  if found.suppressed and not found.sent then return 'suppressed' end
  return last == 'send failed' and 'replying' or nil
end

local function outcome(id, position, time, tail)
  if redis.call('EXISTS', base .. 'dead:' .. id) == 1 then return 'dead' end
  local job = redis.call('HMGET', base .. 'job:' .. id, 'l', 'k', 'f')
  if job[2] then return 'running' end
  if job[1] then return (tonumber(job[3]) or 0) > 0 and 'retrying' or 'waiting' end
  if not entry_with_id(position, time, tail) then return '' end
  local told = last_told(position) or (tonumber(position) <= cursor and 'unrouted' or 'waiting')
  return (told == 'done' or told == 'unrouted') and answered(position) or told
end

local found = {}
for i = 3, #ARGV, 4 do found[#found + 1] = outcome(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
return found
