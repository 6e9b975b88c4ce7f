-- include: log seen lanes
-- Adds jobs to a queue. With a cursor it is the pump's step: it moves the dispatch cursor too, where nobody moved it
-- before.
--
-- ARGV[3]  queue      ARGV[4]  the cursor as it was read, or empty
-- ARGV[5…7]  position, time and tail of the message to which the cursor goes, or empty
-- ARGV[8…]  jobs, as `add_job` takes them; those with a digest are added once within seven days
-- Returns  per job 1 where it was added, else 0; or false where another daemon moved the cursor first, or the message
--          is not there: this daemon has it in memory, and Redis lost it
-- Guarantees: all or nothing; repeated after a lost reply it adds nothing.
if ARGV[4] ~= '' then
  local at = redis.call('HGET', root .. 'meta', 'cursor') or '0'
  if at ~= ARGV[4] or not entry_with_id(ARGV[5], ARGV[6], ARGV[7]) then return false end
  redis.call('HSET', root .. 'meta', 'cursor', ARGV[5])
end
local queue = open_queue(ARGV[3])
local answers, added = {}, false
for i = 8, #ARGV, JOB_ARGS do
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
