-- include: log notes lanes bury remove
-- Makes a job that nobody has claimed a dead letter, also behind other jobs of its lane.
--
-- ARGV[3]   queue
-- ARGV[4]   id of the job
-- ARGV[5]   error as JSON
-- ARGV[6]   reason of the dead letter
-- ARGV[7]   notes as JSON lines, or empty
-- Returns   1, or 0 if the job is claimed or there is none
-- Guarantees: atomic; repeated after a lost reply, it changes nothing and returns 0.
local queue, id = open_queue(ARGV[3]), ARGV[4]
local key = queue.base .. 'job:' .. id
local job = redis.call('HMGET', key, 'l', 'k', 'v', 'n', 'e')
-- An expired claim is still valid until another worker claims the job.
if not job[1] or job[2] then return 0 end
local position, errors = job[3], job[5]
if position and ARGV[7] ~= '' then add_notes(position, ARGV[7]) end
redis.call('HSET', key, 'e', (errors and string.sub(errors, 1, -2) .. ',' or '[') .. ARGV[5] .. ']')
bury(queue, id, ARGV[6])
flush_notes()
remove_job(queue, id)
if job[4] then signal({ 'job:' .. id }) end
return 1
