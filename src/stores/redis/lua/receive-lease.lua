-- include: log notes ready available latest
-- Operations on leased messages.
--
-- ARGV[3]  the operation, followed by its arguments:
--          `ack` receipt. Consumes the message. Returns 1, or 0 if the lease has expired or ended
--          `release` receipt, delay in ms. Returns the message to the road, now or later. Returns
--          1, or 0 as above
--          `extend` receipt, ms. Extends the lease from now on. Returns 1, or 0 as above
--          `restore` position, time and tail of an id. Puts a consumed message back. Returns 1, or
--          0 if it is not retained
--          `show` receipt. Returns the entry of the leased message, or 0
--          `next`  Returns ms until the next lease expires, or false
if ARGV[3] == 'next' then
  local first = redis.call('ZRANGE', root .. 'receive-leases', 0, 0, 'WITHSCORES')
  return first[2] and first[2] - now or false
end
if ARGV[3] == 'restore' then
  local entry = entry_with_id(ARGV[4], ARGV[5], ARGV[6])
  if not entry then return 0 end
  local is_leased = #redis.call('ZRANGEBYSCORE', root .. 'receive-holders', ARGV[4], ARGV[4]) > 0
  if not is_leased and not is_available((origin_of(entry)), ARGV[4]) then
    give_back(tonumber(ARGV[4]))
    signal({ 'receive' })
  end
  return 1
end
note_clock()
local receipt = ARGV[4]
local expiry = tonumber(redis.call('ZSCORE', root .. 'receive-leases', receipt))
if not expiry or expiry <= now then return 0 end
if ARGV[3] == 'show' then return entry_at(string.match(receipt, '^(%d+)%.')) or 0 end
if ARGV[3] == 'extend' then
  redis.call('ZADD', root .. 'receive-leases', now + ARGV[5], receipt)
  return 1
end
local position = end_lease(receipt)
if ARGV[3] == 'ack' then
  add_note(position, '[' .. now .. ',"r","acknowledged"]')
  return 1
end
if tonumber(ARGV[5]) > 0 then
  -- A lease without a receipt: the message is available again when it expires.
  local hidden = position .. '.' .. now .. '-later'
  redis.call('ZADD', root .. 'receive-leases', now + ARGV[5], hidden)
  redis.call('ZADD', root .. 'receive-holders', position, hidden)
  add_note(position, '[' .. now .. ',"r","released"]')
  return 1
end
give_back(position)
add_note(position, '[' .. now .. ',"r","released"]')
signal({ 'receive' })
return 1
