-- include: log notes available
-- Ends a lease: the message is consumed, or given back.
--
-- ARGV[3]  receipt      ARGV[4]  `ack` or `release`
-- Returns  1, or 0 where the lease has run out or ended before
local receipt = ARGV[3]
local expiry = tonumber(redis.call('ZSCORE', root .. 'receive-leases', receipt))
if not expiry or expiry <= now then return 0 end
local position = end_lease(receipt)
if ARGV[4] == 'ack' then
  add_note(position, '[' .. now .. ',"r","acked"]')
  return 1
end
give_back(position)
add_note(position, '[' .. now .. ',"r","released"]')
signal({ 'receive' })
return 1
