-- include: seen lanes
-- Adds jobs to a queue. With a cursor it is the pump's step: it moves the dispatch cursor too, where nobody moved it
-- before.
--
-- ARGV[3]  queue      ARGV[4…5]  the cursor as it was read, and where it goes; or empty
-- ARGV[6…]  jobs, as `add_job` takes them; those with a digest are added once within seven days
-- Returns  per job 1 where it was added, else 0; or false where another daemon moved the cursor first
-- Guarantees: all or nothing; repeated after a lost reply it adds nothing.
if ARGV[4] ~= '' then
  if (redis.call('HGET', root .. 'meta', 'cursor') or '0') ~= ARGV[4] then return false end
  redis.call('HSET', root .. 'meta', 'cursor', ARGV[5])
end
local queue = open_queue(ARGV[3])
local answers, added = {}, false
for i = 6, #ARGV, JOB_ARGS do
  local digest, answer = ARGV[i + 7], 0
  if not (digest ~= '' and seen_get(queue.base .. 'seen:', digest)) and add_job(queue, i) then
    if digest ~= '' then seen_put(queue.base .. 'seen:', digest, '') end
    answer, added = 1, true
  end
  answers[#answers + 1] = answer
end
flush(queue)
if added then signal({ 'jobs:' .. queue.name }) end
return answers
