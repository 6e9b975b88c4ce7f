-- include: groups
-- Lists the consumer groups of a topic. Writes nothing.
--
-- Returns  per group {name, position of the last event it passed, events that wait for it, events given out or back}
local last, infos = last_position(), {}
local groups = redis.call('HGETALL', root .. 'groups')
for i = 1, #groups, 2 do
  local keys = keys_of(groups[i])
  local position = groups[i + 1] - 1
  local pending = redis.call('ZCARD', keys.hidden) + redis.call('ZCARD', keys.back)
  local lag = last - position - redis.call('ZCARD', keys.ahead)
  infos[#infos + 1] = { groups[i], position, math.max(0, lag), pending }
end
return infos
