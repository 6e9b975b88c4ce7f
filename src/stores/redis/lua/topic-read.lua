-- include: log groups unheard latest
-- Reads events of one topic for several groups. Each entry is returned once; groups refer to
-- positions. A peek gets only the positions of unread events: the caller fetches their entries by
-- XRANGE, which costs a third of reading them in Lua.
--
-- ARGV[3…5]  daemon, number of this call, and numbers of unanswered calls, as in `lib/unheard.lua`
-- ARGV[6]    the topic
-- ARGV[7…]   seven values per request. Without requests, only unanswered calls are processed:
--            group
--            limit
--            `consume`, `peek` or `lease`
--            lease in ms; for a peek, the position after which it begins
--            latest time (Unix ms) that the id of a returned event may have, or empty
--            1 to count deliveries, or empty
--            1 to return rounds, or empty
-- Returns    the entries, fewer than requested if they are large. A peek of large events from
--            back:<group> may skip events; the caller cuts it off before. Then per request false
--            (no such group), or {number of missed events, ms until a hidden event becomes visible
--            or -1, time of the first event that was held back or 0, 1 if there may be more, else
--            0, {delivery number of each event, if counted}, {round of each event, if asked for},
--            positions…}
-- Guarantees: an event that is consumed or leased goes to no other read of the group, unless the
--            call is reported as unanswered. Then it is delivered again, before any unread event;
--            events that were read meanwhile have overtaken it.

if is_given_up(ARGV[3], ARGV[4]) then return GIVEN_UP end
-- A record has the consuming groups, each with its positions.
for_each_unheard(ARGV[3], ARGV[5], function(record)
  for _, handed in ipairs(record) do
    local group, positions = handed[1], handed[2]
    if redis.call('HEXISTS', root .. 'groups', group) == 1 then
      for _, position in ipairs(positions) do redis.call('ZADD', keys_of(group).back, position, position) end
      redis.call('SADD', root .. 'odd', group)
    end
  end
  signal({ 'topic:' .. ARGV[6] })
end)
if #ARGV == 6 then return false end

local names = {}
for i = 7, #ARGV, 7 do names[#names + 1] = ARGV[i] end
local nexts = redis.call('HMGET', root .. 'groups', unpack(names))
local odds = redis.call('SMISMEMBER', root .. 'odd', unpack(names))
local last = last_position()
local next_of, odd, existing = {}, {}, {}
for i, name in ipairs(names) do
  next_of[name] = tonumber(nexts[i] or nil)
  odd[name] = odds[i] == 1
  if next_of[name] then existing[#existing + 1] = name end
end
touch(existing)

local SLICE = 16
local entries, bytes, included, windows = {}, 0, {}, {}

local function pick(positions, entry, position)
  positions[#positions + 1] = position
  if included[position] then return end
  included[position] = true
  entries[#entries + 1] = entry
  bytes = bytes + #entry[2][4]
end

-- Large events do not count for a group without events: each group gets at least one.
local function is_full(positions, max)
  return #positions == max or (#positions > 0 and bytes > LARGE)
end

-- Entries from a position on, `count` or more; fewer if the log ends.
local function window(start, count)
  local known = windows[start]
  if not known or (known.count < count and #known.list == known.count) then
    known = { count = count, list = redis.call('XRANGE', root .. 'journal', start .. '-0', '+', 'COUNT', count) }
    windows[start] = known
  end
  return known.list
end

-- The time of the first entry that was held back because of its time.
local held

local function is_held(entry, till)
  local time = till and time_of(entry)
  if not time or time <= till then return false end
  held = math.min(held or time, time)
  return true
end

-- Picks positions in back:<group> whose events are retained, oldest first. Returns the number of
-- removed ones.
local function read_back(group, keys, max, after, positions, till)
  for _, position in ipairs(redis.call('ZRANGEBYSCORE', keys.hidden, '-inf', now, 'LIMIT', 0, 1000)) do
    show(keys, position, next_of[group])
  end
  local missed, before = 0, 0
  -- Removed positions make room in the limit, so it reads again. Picked positions are still in
  -- back:<group>, so it skips them.
  repeat
    before = missed
    local place, rest = #positions, max - #positions
    for _, text in ipairs(redis.call('ZRANGEBYSCORE', keys.back, '(' .. after, '+inf', 'LIMIT', place, rest)) do
      if is_full(positions, max) then return missed end
      local entry = entry_at(text)
      if entry and is_held(entry, till) then return missed end
      if entry then
        pick(positions, entry, tonumber(text))
      else
        missed = missed + redis.call('ZREM', keys.back, text)
        redis.call('HDEL', keys.deliveries, text)
        redis.call('HDEL', keys.rounds, text)
      end
    end
  until missed == before
  return missed
end

-- Reads from the group's next position. Returns the new next position, the number of removed events
-- before it, and whether there are more.
local function read_fresh(start, max, keys, positions, till)
  local reach, count = start, math.min(SLICE, max)
  local before, is_stopped = #positions, false
  while not is_stopped and not is_full(positions, max) and reach <= last do
    local list = window(reach, count)
    reach = #list < count and last + 1 or position_of(list[#list][1]) + 1
    for _, entry in ipairs(list) do
      local position = position_of(entry[1])
      if is_full(positions, max) then
        reach = position
        break
      end
      if not (keys and redis.call('ZSCORE', keys.ahead, position)) then
        if is_held(entry, till) then
          reach, is_stopped = position, true
          break
        end
        pick(positions, entry, position)
      end
    end
  end
  local passed, picked = reach - start, #positions - before
  local skipped = keys and redis.call('ZCOUNT', keys.ahead, start, reach - 1) or 0
  return reach, passed - skipped - picked, reach <= last
end

-- Like `read_fresh`, for a peek. It counts removed events only before its first event. With `till`,
-- it looks at a single event: picks it, or notes its time if it is held.
local function look_on(start, max, keys, positions, till)
  local stop, first = start, nil
  local function first_there(position)
    local entry = redis.call('XRANGE', root .. 'journal', position .. '-0', '+', 'COUNT', 1)[1]
    return entry and position_of(entry[1]) or last + 1
  end
  if till then max = #positions + 1 end
  while #positions < max and stop <= last do
    local some = {}
    for position = stop, math.min(last, stop + max - #positions - 1) do some[#some + 1] = position end
    local known = keys and redis.call('ZMSCORE', keys.ahead, unpack(some)) or {}
    stop = stop + #some
    for i, position in ipairs(some) do
      if not known[i] and not first then
        stop = first_there(position)
        if stop > position then break end
        first, stop = position, some[#some] + 1
      end
      if not known[i] then positions[#positions + 1] = position end
    end
  end
  if till and first and is_held(entry_at(first), till) then positions[#positions] = nil end
  local reach = first or stop
  local skipped = keys and redis.call('ZCOUNT', keys.ahead, start, reach - 1) or 0
  return reach, reach - start - skipped, stop <= last
end

-- Whether there are further positions in back:<group>. A read has removed those that it returns, a
-- peek has not.
local function is_back_left(keys, mode, positions, after)
  local from = mode == 'peek' and (positions[#positions] or after) or 0
  return redis.call('ZCOUNT', keys.back, '(' .. from, '+inf') > 0
end

local function rounds_of(group, positions)
  local rounds = {}
  if #positions == 0 then return rounds end
  local found = redis.call('HMGET', keys_of(group).rounds, 'all', unpack(positions))
  for i = 1, #positions do rounds[i] = tonumber(found[i + 1] or found[1] or 0) end
  return rounds
end

local handed, moved = {}, {}

local function serve(group, max, mode, lease, till, is_counted, with_rounds)
  if not next_of[group] then return false end
  held = nil
  local keys = odd[group] and keys_of(group)
  local positions, after = {}, mode == 'peek' and tonumber(lease) or 0
  local missed = keys and read_back(group, keys, max, after, positions, till) or 0
  if keys and mode ~= 'peek' and #positions > 0 then redis.call('ZREM', keys.back, unpack(positions)) end

  local read = mode == 'peek' and look_on or read_fresh
  local reach, gone, left = read(math.max(next_of[group], after + 1), max, keys, positions, till)
  if mode == 'peek' then
    if missed > 0 then redis.call('INCRBY', keys.missed, missed) end
  elseif reach > next_of[group] then
    next_of[group], moved[group] = reach, reach
    if keys then redis.call('ZREMRANGEBYSCORE', keys.ahead, '-inf', reach - 1) end
  end

  -- A peek does not use up the report of missed events: it has added those that it found to the
  -- stored number, and returns that. Other reads return the stored number and delete it.
  local before = keys and tonumber(redis.call(mode == 'peek' and 'GET' or 'GETDEL', keys.missed) or nil) or 0
  if mode == 'peek' then missed = 0 end
  local rounds = with_rounds and rounds_of(group, positions) or {}
  if mode == 'consume' and #positions > 0 then
    handed[#handed + 1] = { group, positions }
    if keys then
      redis.call('HDEL', keys.deliveries, unpack(positions))
      redis.call('HDEL', keys.rounds, unpack(positions))
    end
  end
  local counts = {}
  if mode == 'lease' and #positions > 0 then
    note_clock()
    keys, odd[group] = keys_of(group), true
    redis.call('SADD', root .. 'odd', group)
    for i, position in ipairs(positions) do
      redis.call('ZADD', keys.hidden, now + lease, position)
      if is_counted then counts[i] = redis.call('HINCRBY', keys.deliveries, position, 1) end
    end
  end
  left = left or (keys and is_back_left(keys, mode, positions, after))
  local soonest = keys and tonumber(redis.call('ZRANGE', keys.hidden, 0, 0, 'WITHSCORES')[2])
  if keys and not soonest then tidy(group, keys) end
  local wait = soonest and math.max(0, soonest - now) or -1
  return { before + missed + gone, wait, held or 0, left and 1 or 0, counts, rounds, unpack(positions) }
end

local answers, writes = {}, {}
for i = 7, #ARGV, 7 do
  local max, till = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 4])
  answers[#answers + 1] = serve(ARGV[i], max, ARGV[i + 2], ARGV[i + 3], till, ARGV[i + 5] == '1', ARGV[i + 6] == '1')
end
if #handed > 0 then remember_handed(ARGV[3], ARGV[4], handed) end
for group, position in pairs(moved) do
  writes[#writes + 1] = group
  writes[#writes + 1] = position
end
if #writes > 0 then redis.call('HSET', root .. 'groups', unpack(writes)) end
return { entries, answers }
