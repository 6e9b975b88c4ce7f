-- include: log notes ready available
-- Lists available messages, for a consumer that chooses by content. Takes nothing.
--
-- ARGV[3]   gateway, or empty
-- ARGV[4]   position: lists never-taken messages after it        ARGV[5]  limit
-- ARGV[6…]  positions of returned messages; if given, lists these instead (ARGV[3…5] are ignored)
-- Returns   the entries, oldest first, fewer if they are large; the position up to which the list
--           is complete; 1 if there are more, else 0; and the positions of all returned messages.
--           With ARGV[6…]: the entries, and 1 if there are more, else 0
local gateway, after, max = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

-- The entries at positions. If they are large, it stops early, and also returns the last position.
local function shown(positions)
  local entries, bytes, last = {}, 0, nil
  for _, position in ipairs(positions) do
    if bytes > LARGE then return entries, last end
    local entry = entry_at(position)
    last = position
    if entry then
      entries[#entries + 1] = entry
      bytes = bytes + #entry[2][4]
    end
  end
  return entries
end

if #ARGV > 5 then
  local asked = {}
  for i = 6, #ARGV do asked[#asked + 1] = ARGV[i] end
  local entries, last = shown(asked)
  return { entries, last and 1 or 0 }
end

local expired = redis.call('ZRANGEBYSCORE', root .. 'receive-leases', '-inf', now, 'LIMIT', 0, 1000)
for _, receipt in ipairs(expired) do give_back(end_lease(receipt)) end
if #expired > 0 then signal({ 'receive' }) end

local fresh, back = {}, {}
-- Up to `max` + 1 positions per gateway: so the `max` oldest of all are included, and it is known
-- whether there are more.
for _, name in ipairs(gateway ~= '' and { gateway } or redis.call('SMEMBERS', root .. 'gateways')) do
  local runs = redis.call('ZRANGEBYSCORE', root .. 'ready:' .. name, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, max + 1)
  local count = 0
  for i = 1, #runs, 2 do
    for position = math.max(after + 1, tonumber(runs[i])), tonumber(runs[i + 1]) do
      if count > max then break end
      count = count + 1
      fresh[#fresh + 1] = position
    end
  end
  for _, position in ipairs(redis.call('ZRANGE', root .. 'receive-back:' .. name, 0, -1)) do
    back[#back + 1] = tonumber(position)
  end
  for _, reference in ipairs(redis.call('XRANGE', root .. 'receive:' .. name, '-', '+')) do
    back[#back + 1] = position_of(reference[1])
  end
end
table.sort(fresh)
table.sort(back)
local cut = fresh[max + 1] and fresh[max]
for i = #fresh, max + 1, -1 do fresh[i] = nil end
local entries, last = shown(fresh)
cut = last or cut
return { entries, cut or tonumber(redis.call('HGET', root .. 'meta', 'end') or 0), cut and 1 or 0, back }
