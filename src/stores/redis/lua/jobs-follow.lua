-- include: log notes lanes merge
-- Merges the jobs behind a claimed job of their lane into it: their messages steer the running
-- model.
--
-- ARGV[3]  queue    ARGV[4]  job id    ARGV[5]  token    ARGV[6]  the group of the jobs to merge
-- Returns  their messages, oldest first, each {position, head, payload}; false if the claim is lost
-- Guarantees: atomic; the returned messages are also in field w of the job, for its next claim.
local queue = open_queue(ARGV[3])
local job = redis.call('HMGET', queue.base .. 'job:' .. ARGV[4], 'k', 'l', 'v')
if job[1] ~= ARGV[5] then return false end
local own = job[3] and entry_at(job[3])
local jobs = own and untouched(queue, job[2], ARGV[6], 1, sender_of(own)) or {}
if #jobs == 0 then return {} end
local names = {}
local taken = merge(queue, job[2], jobs, ARGV[4], 'steered', names)
flush(queue)
signal(names)
return taken
