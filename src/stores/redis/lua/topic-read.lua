-- include: log groups unheard
-- Reads for several groups of one topic. Each entry is returned once; groups refer to positions.
--
-- ARGV[3…6]  daemon, slot, number, and what it never heard of, as `lib/unheard.lua` has them
-- ARGV[7…]  per request four values: group; how many at most; `consume`, `peek` or `lease`; lease in ms
-- Returns   the entries, then per request false (there is no such group) or
--           {missed, in how many ms something hidden becomes visible or -1, positions…}
-- Guarantees: what is consumed or leased is given to no other read of the group, unless the caller never
--           heard of it and says so; groups that read plainly cost no call of their own.

-- A record holds, per answer that was consumed, its positions and the groups that got it.
for_each_unheard(ARGV[3], ARGV[6], function(record)
  for _, handed in ipairs(record) do
    local positions, groups = handed[1], handed[2]
    for _, group in ipairs(groups) do
      if redis.call('HEXISTS', root .. 'groups', group) == 1 then
        for _, position in ipairs(positions) do redis.call('ZADD', keys_of(group).back, position, position) end
        redis.call('SADD', root .. 'odd', group)
      end
    end
  end
end)

local names, requests = {}, {}
for i = 7, #ARGV, 4 do
  names[#names + 1] = ARGV[i]
  requests[#requests + 1] = { group = ARGV[i], max = tonumber(ARGV[i + 1]), mode = ARGV[i + 2], lease = ARGV[i + 3] }
end
local nexts = redis.call('HMGET', root .. 'groups', unpack(names))
local odds = redis.call('SMISMEMBER', root .. 'odd', unpack(names))
local last = last_position()
local next_of, odd, moved = {}, {}, {}
for i, name in ipairs(names) do
  next_of[name] = tonumber(nexts[i] or nil)
  odd[name] = odds[i] == 1
end

local entries, included, windows = {}, {}, {}

local function include(entry, position)
  if included[position] then return end
  included[position] = true
  entries[#entries + 1] = entry
end

-- Entries from a position on; groups at the same place share one read.
local function window(start, count)
  local known = windows[start]
  if not known or (known.count < count and #known.list == known.count) then
    known = { count = count, list = redis.call('XRANGE', root .. 'journal', start .. '-0', '+', 'COUNT', count) }
    windows[start] = known
  end
  return known.list, #known.list < count
end

-- Positions in back:<group> that are still retained, oldest first, and how many were not.
local function read_back(group, keys, max)
  for _, position in ipairs(redis.call('ZRANGEBYSCORE', keys.hidden, '-inf', now, 'LIMIT', 0, 1000)) do
    show(keys, position, next_of[group])
  end
  local picked, missed = {}, 0
  for _, text in ipairs(redis.call('ZRANGE', keys.back, 0, max - 1)) do
    local entry = entry_at(text)
    if entry then
      include(entry, tonumber(text))
      picked[#picked + 1] = tonumber(text)
    else
      redis.call('ZREM', keys.back, text)
      missed = missed + 1
    end
  end
  return picked, missed
end

-- Reads on from the group's next position. Returns the positions, where reading got to, and how many
-- are gone. A peek passes what is gone only before its first event, for it must tell that once.
local function read_fresh(request, max, keys)
  local from, room, picked, missed = next_of[request.group], max, {}, 0
  local reach = from

  local function skip_to(position)
    if position <= reach then return end
    if request.mode == 'peek' and #picked > 0 then return end
    local known = keys and redis.call('ZCOUNT', keys.ahead, reach, position - 1) or 0
    missed = missed + position - reach - known
    reach = position
  end

  local ended, start = false, from
  while room > #picked and start <= last and not ended do
    local list, short = window(start, max)
    ended = short
    for _, entry in ipairs(list) do
      if #picked >= room then return picked, reach, missed end
      local position = position_of(entry[1])
      skip_to(position)
      if not (keys and redis.call('ZSCORE', keys.ahead, position)) then
        include(entry, position)
        picked[#picked + 1] = position
      end
      if request.mode ~= 'peek' or #picked == 0 then reach = position + 1 end
      start = position + 1
    end
  end
  if ended and #picked < room then skip_to(last + 1) end
  return picked, reach, missed
end

-- Hides what is leased until the lease runs out, and takes what came back out of `back`.
local function give_out(request, keys, back, fresh)
  if #back > 0 then redis.call('ZREM', keys.back, unpack(back)) end
  if request.mode == 'consume' or #back + #fresh == 0 then return end
  local hides, expiry = {}, now + request.lease
  for _, list in ipairs({ back, fresh }) do
    for _, position in ipairs(list) do
      hides[#hides + 1] = expiry
      hides[#hides + 1] = position
    end
  end
  for i = 1, #hides, 1000 do redis.call('ZADD', keys.hidden, unpack(hides, i, math.min(i + 999, #hides))) end
  redis.call('SADD', root .. 'odd', request.group)
  odd[request.group] = true
end

local function move(group, position)
  if position ~= next_of[group] then moved[group] = position end
  next_of[group] = position
end

-- Groups that read plainly from the same place get the same answer, made once.
local plain = {}

local function serve_plain(request)
  local key = next_of[request.group] .. ' ' .. request.max .. ' ' .. request.mode
  if not plain[key] then
    local fresh, reach, missed = read_fresh(request, request.max, nil)
    plain[key] = { answer = { missed, -1, unpack(fresh) }, reach = reach }
  end
  move(request.group, plain[key].reach)
  return plain[key].answer
end

local function serve_odd(request)
  local group, max = request.group, request.max
  local keys = keys_of(group)
  local back, fresh, missed = {}, {}, 0
  if odd[group] then back, missed = read_back(group, keys, max) end
  if #back < max then
    local reach, gone
    fresh, reach, gone = read_fresh(request, max - #back, odd[group] and keys)
    missed = missed + gone
    move(group, reach)
    if odd[group] then redis.call('ZREMRANGEBYSCORE', keys.ahead, '-inf', reach - 1) end
  end
  if request.mode ~= 'peek' then give_out(request, keys, back, fresh) end
  local soonest = odd[group] and tonumber(redis.call('ZRANGE', keys.hidden, 0, 0, 'WITHSCORES')[2])
  if odd[group] and not soonest then tidy(group, keys) end
  local answer = { missed, soonest and math.max(0, soonest - now) or -1 }
  for _, position in ipairs(back) do answer[#answer + 1] = position end
  for _, position in ipairs(fresh) do answer[#answer + 1] = position end
  return answer
end

local answers, handed, handed_by, writes = {}, {}, {}, {}

local function hand_over(request, answer)
  if request.mode ~= 'consume' or #answer <= 2 then return end
  if not handed_by[answer] then
    handed_by[answer] = { { unpack(answer, 3) }, {} }
    handed[#handed + 1] = handed_by[answer]
  end
  table.insert(handed_by[answer][2], request.group)
end

for i, request in ipairs(requests) do
  answers[i] = false
  if next_of[request.group] then
    local is_plain = not odd[request.group] and request.mode ~= 'lease'
    answers[i] = is_plain and serve_plain(request) or serve_odd(request)
    hand_over(request, answers[i])
  end
end
if #handed > 0 then remember_handed(ARGV[3], ARGV[4], ARGV[5], handed) end
for group, position in pairs(moved) do
  writes[#writes + 1] = group
  writes[#writes + 1] = position
end
if #writes > 0 then redis.call('HSET', root .. 'groups', unpack(writes)) end
return { entries, answers }
