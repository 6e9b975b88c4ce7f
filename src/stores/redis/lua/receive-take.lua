-- include: log notes ready available unheard latest
-- Takes the oldest available message of a gateway, a conversation, or both.
--
-- ARGV[3]      gateway, or empty
-- ARGV[4]      digest of the conversation, or empty
-- ARGV[5…7]    position, time and tail of the conversation if it is the id of a message; or empty
-- ARGV[8]      lease in ms, or empty to consume at once
-- ARGV[9]      token for the receipt
-- ARGV[10…12]  daemon, number of this call, and numbers of unanswered calls, as in
--              `lib/unheard.lua`. With number 0, messages of unanswered calls are returned, and
--              nothing is taken
-- ARGV[13]     the note for the history, without its time
-- ARGV[14]     take no message whose id has a later time (Unix ms), or empty
-- ARGV[15…17]  position, time and tail of the only wanted message, even if older ones are
--              available; or absent
-- Returns      {entry, receipt (empty without lease), number of lost messages of the gateway that
--              were not reported yet (0 if a conversation is given)}; false if there is none; or
--              the time of a message that ARGV[14] excludes
-- Guarantees:  no two calls get the same message, unless its lease expired in between, or the first
--              call was reported as unanswered.
local gateway, conversation, own = ARGV[3], ARGV[4], tonumber(ARGV[5])
if is_given_up(ARGV[10], ARGV[11]) then return GIVEN_UP end
local expired = redis.call('ZRANGEBYSCORE', root .. 'receive-leases', '-inf', now, 'LIMIT', 0, 1000)
for _, receipt in ipairs(expired) do give_back(end_lease(receipt)) end
if #expired > 1 then signal({ 'receive' }) end
for_each_unheard(ARGV[10], ARGV[12], function(position)
  give_back(position)
  add_note(position, '[' .. now .. ',"r","returned"]')
  signal({ 'receive' })
end)
if ARGV[11] == '0' then return false end

-- The oldest available position of the conversation, by its list.
local function in_list()
  local index = 0
  while true do
    local position = redis.call('LINDEX', root .. 'conversation:' .. conversation, index)
    if not position then return nil end
    local found = entry_at(position)
    if found and (gateway == '' or origin_of(found) == gateway) then return tonumber(position) end
    index = index + 1
  end
end

-- The position of the message that is a conversation of its own, if it is available.
local function alone()
  local found = own and entry_with_id(own, ARGV[6], ARGV[7])
  if not found then return nil end
  local its_gateway, its_conversation = origin_of(found)
  if its_conversation ~= '' or (gateway ~= '' and its_gateway ~= gateway) then return nil end
  return is_available(its_gateway, own) and own or nil
end

local position, found
if ARGV[15] then
  position, found = tonumber(ARGV[15]), entry_with_id(ARGV[15], ARGV[16], ARGV[17])
  if not found then return false end
else
  repeat
    local of
    if conversation == '' then position, of = oldest_available(gateway) else position = older(in_list(), alone()) end
    if not position then return false end
    found = entry_at(position)
    -- A daemon of an older version has removed the message without updating the runs.
    if not found then make_unavailable(of, '', position) end
  until found
  if ARGV[14] ~= '' and time_of(found) > tonumber(ARGV[14]) then return time_of(found) end
end
local its_gateway, its_conversation = origin_of(found)
-- Only a message wanted by its id may already be taken.
if not make_unavailable(its_gateway, its_conversation, position) then return false end
add_note(position, '[' .. now .. ',' .. string.sub(ARGV[13], 2))
local missed = conversation == '' and unreported(its_gateway) or 0
if ARGV[8] == '' then
  remember_handed(ARGV[10], ARGV[11], position)
  return { found, '', missed }
end
note_clock()
local receipt = position .. '.' .. ARGV[9]
redis.call('ZADD', root .. 'receive-leases', now + ARGV[8], receipt)
redis.call('ZADD', root .. 'receive-holders', position, receipt)
return { found, receipt, missed }
