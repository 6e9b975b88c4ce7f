-- Lists the jobs that wait or run, oldest first. Writes nothing.
--
-- ARGV[3]  queue    ARGV[4]  how many
-- Returns  per job {id, lane, group, failures, in how many ms it is due, 1 where it runs}
local base = root .. 'jobs:' .. ARGV[3] .. ':'
local jobs = {}
for _, id in ipairs(redis.call('ZRANGE', base .. 'all', 0, ARGV[4] - 1)) do
  local job = redis.call('HMGET', base .. 'job:' .. id, 'l', 'g', 'f', 'b')
  local expiry = tonumber(redis.call('ZSCORE', base .. 'claims', id))
  jobs[#jobs + 1] = { id, job[1], job[2], job[3] or '0', job[4] - now, expiry and expiry > now and 1 or 0 }
end
return jobs
