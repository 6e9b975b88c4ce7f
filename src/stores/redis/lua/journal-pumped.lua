-- include: lanes
-- Moves the dispatch cursor and adds the jobs, where nobody moved it before.
--
-- ARGV[3]  the cursor as it was read      ARGV[4]  where it goes
-- ARGV[5…]  jobs for the queue `dispatch`, as `add_job` takes them
-- Returns   1, or 0 where another daemon was first: then nothing is changed
-- Guarantees: repeated after a lost reply it returns 0 and adds nothing.
if (redis.call('HGET', root .. 'meta', 'cursor') or '0') ~= ARGV[3] then return 0 end
redis.call('HSET', root .. 'meta', 'cursor', ARGV[4])
local queue = open_queue('dispatch')
for i = 5, #ARGV, JOB_ARGS do add_job(queue, i) end
flush(queue)
if #ARGV >= 5 then signal({ 'jobs:dispatch' }) end
return 1
