-- Lists keys with a prefix, sorted by bytes, and takes those that ran out from the index.
--
-- ARGV[3]  prefix    ARGV[4]  how many
-- Returns  the keys
local limit, keys, from = tonumber(ARGV[4]), {}, '[' .. ARGV[3]

local function is_there(name)
  local found = redis.call('HMGET', root .. 'value:' .. name, 'n', 'x')
  return found[1] and not (found[2] and tonumber(found[2]) <= now)
end

while #keys < limit do
  local slice = redis.call('ZRANGEBYLEX', root .. 'index', from, '[' .. ARGV[3] .. '\255', 'LIMIT', 0, limit)
  for _, name in ipairs(slice) do
    if not is_there(name) then
      redis.call('ZREM', root .. 'index', name)
    elseif #keys < limit then
      keys[#keys + 1] = name
    end
    from = '(' .. name
  end
  if #slice < limit then break end
end
return keys
