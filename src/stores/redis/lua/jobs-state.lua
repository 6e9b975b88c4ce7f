-- Tells how it stands with a job. Writes nothing.
--
-- ARGV[3]  queue    ARGV[4]  job id
-- Returns  {`waiting` or `running`, failures}, {`done`, at, result as JSON or empty}, {`dead`, reason, errors}, or false
local base = root .. 'jobs:' .. ARGV[3] .. ':'
local job = redis.call('HMGET', base .. 'job:' .. ARGV[4], 'l', 'f')
if job[1] then
  local expiry = tonumber(redis.call('ZSCORE', base .. 'claims', ARGV[4]))
  return { expiry and expiry > now and 'running' or 'waiting', job[2] or '0' }
end
local dead = redis.call('HMGET', base .. 'dead:' .. ARGV[4], 'y', 'e')
if dead[1] then return { 'dead', dead[1], dead[2] or '[]' } end
local done = redis.call('GET', base .. 'done:' .. ARGV[4])
local at, result = string.match(done or '', '^(%d+) (.*)$')
return at and now - at < 7 * 24 * 3600 * 1000 and { 'done', at, result } or false
