-- Makes a script atomic, as Redis does not roll back. A command fails if another program wrote to
-- its key, or if the user lacks a right.

-- The commands of scripts with `whole`, and arguments with which they do not change a key that has
-- a text. After a failure for lack of a right they are tried, because an error inside `pcall` does
-- not name its command.
local COMMANDS = {
  { 'SET', '1' }, { 'HSET', 'f', '1' }, { 'HSETNX', 'f', '1' }, { 'HDEL', 'f' }, { 'HINCRBY', 'f', '1' }, { 'RPUSH', '1' },
  { 'SADD', '1' }, { 'XADD', '*', 'f', '1' }, { 'ZADD', '1', '1' }, { 'ZRANGE', '0', '0' }, { 'ZREM', '1' }, { 'PERSIST' },
}

-- The names of the commands that the user may not run.
local function refused_commands()
  local names, key = {}, root .. 'probe'
  redis.pcall('SET', key, 1)
  if redis.call('TYPE', key).ok ~= 'string' then return 'SET' end
  for _, command in ipairs(COMMANDS) do
    local name, arguments = command[1], { key, unpack(command, 2) }
    local answer = redis.pcall(name, unpack(arguments))
    local is_refused = type(answer) == 'table' and answer.err and string.find(answer.err, 'user executing the script', 1, true)
    if is_refused then names[#names + 1] = name end
  end
  return table.concat(names, ', ')
end

-- Runs `write`. If it fails, runs `undo`, which must not fail. Returns the result of `write`, or
-- nil and the text of the failure.
local function whole(write, undo)
  local is_done, answer = pcall(write)
  if is_done then return answer end
  undo()
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  if not string.find(text, 'user executing the script', 1, true) then return nil, text end
  return nil, text .. ' (' .. refused_commands() .. '; docs/stores.md has the rights)'
end
