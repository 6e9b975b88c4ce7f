-- include: log notes ready available latest
-- Leases of messages.
--
-- ARGV[3]  `ack`, or `release` with a delay in ms in ARGV[5], with a receipt in ARGV[4]: the message is consumed, or given
--          back, now or later; 1, or 0 where the lease has run out or ended before
--          `extend`, with a receipt and ms: the lease runs for so long from now; 1, or 0 as before
--          `restore`, with position, time and tail of an id: puts a consumed message back; 1, or 0 where it is gone
--          `show`, with a receipt: the entry of the message that it holds, or 0
--          `next`: in how many ms the next lease runs out, or false
if ARGV[3] == 'next' then
  local first = redis.call('ZRANGE', root .. 'receive-leases', 0, 0, 'WITHSCORES')
  return first[2] and first[2] - now or false
end
if ARGV[3] == 'restore' then
  if not entry_with_id(ARGV[4], ARGV[5], ARGV[6]) then return 0 end
  if #redis.call('ZRANGEBYSCORE', root .. 'receive-holders', ARGV[4], ARGV[4]) == 0 then
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
  -- A lease that nobody has the receipt of: the message comes back when it runs out.
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
