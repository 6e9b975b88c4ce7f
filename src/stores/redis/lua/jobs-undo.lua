-- include: log notes lanes bury remove
-- Makes a retried job that nobody has claimed the dead letter that it was before, see lanes.lua.
--
-- ARGV[3]   queue
-- ARGV[4]   id of the job
-- ARGV[5]   who undoes the retry
-- ARGV[6]   notes as JSON lines, or empty
-- Returns   1, or 0 if the job is claimed, there is none, or others retried it
-- Guarantees: atomic; repeated after a lost reply, it changes nothing and returns 0.
local queue, id = open_queue(ARGV[3]), ARGV[4]
local key = queue.base .. 'job:' .. id
local job = redis.call('HMGET', key, 'u', 'k', 'v', 'n', 'uz', 'uy', 'ue', 'uq', 'o')
-- An expired claim is still valid until another worker claims the job.
if job[1] ~= ARGV[5] or job[2] then return 0 end
local position, at, reason, errors, retried, first = job[3], job[5], job[6], job[7], job[8], job[9]
if position and ARGV[6] ~= '' then add_notes(position, ARGV[6]) end
redis.call('HDEL', key, 'u', 'uz', 'uy', 'ue', 'uq')
if errors then
  redis.call('HSET', key, 'e', errors, 'q', retried)
else
  redis.call('HSET', key, 'e', string.match(first, '^%[[^,]*,(.*)%]$'))
  redis.call('HDEL', key, 'o', 'q')
end
bury(queue, id, reason, at)
flush_notes()
remove_job(queue, id)
if job[4] then signal({ 'job:' .. id }) end
return 1
