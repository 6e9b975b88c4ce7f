-- include: seen lanes
-- Adds jobs to a queue, each id once within seven days.
--
-- ARGV[3]  queue      ARGV[4…]  jobs, as `add_job` takes them
-- Returns  per job 1 where it was added, else 0
-- Guarantees: all or nothing; repeated after a lost reply it adds nothing.
local queue = open_queue(ARGV[3])
local answers, added = {}, false
for i = 4, #ARGV, JOB_ARGS do
  local digest = ARGV[i + 8]
  if seen_get(queue.base .. 'seen:', digest) or not add_job(queue, i) then
    answers[#answers + 1] = 0
  else
    seen_put(queue.base .. 'seen:', digest, '')
    answers[#answers + 1] = 1
    added = true
  end
end
flush(queue)
if added then signal({ 'jobs:' .. queue.name }) end
return answers
