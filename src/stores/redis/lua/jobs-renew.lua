-- Renews the leases of claims.
--
-- ARGV[3]  queue    ARGV[4]  lease in ms    ARGV[5…]  per claim two values: job id, token
-- Returns  per claim 1, or 0 where it is lost
local base = root .. 'jobs:' .. ARGV[3] .. ':'
local answers = {}
for i = 5, #ARGV, 2 do
  local held = redis.call('HGET', base .. 'job:' .. ARGV[i], 'k') == ARGV[i + 1]
    and redis.call('ZSCORE', base .. 'claims', ARGV[i])
  if held then redis.call('ZADD', base .. 'claims', now + ARGV[4], ARGV[i]) end
  answers[#answers + 1] = held and 1 or 0
end
return answers
