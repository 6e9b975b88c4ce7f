-- Key-value pairs: `value:<key>` is a hash (n version, v value as JSON, x expiry), and `index` has
-- all keys.
--
-- ARGV[3]   the operation, followed by its arguments:
--           `get` key. Returns {version, value}, or false
--           `set` key, value as JSON, ttl in ms or empty, expected version or empty, 1 to keep the
--           ttl or empty. Returns the new version, or false if the key has another version
--           `delete` key. Returns 1, or 0 if there is no such key
--           `list` prefix, limit, last key of the previous page or empty. Returns the next keys,
--           sorted by bytes
-- Guarantees: Versions come from one counter, so none is reused after a delete. A version is at
--           least the current time, so versions increase even if Redis lost its last writes.
local what, name = ARGV[3], ARGV[4]
local key, index = root .. 'value:' .. name, root .. 'index'

-- Version and value, if the key has not expired.
local function read(from)
  local found = redis.call('HMGET', from, 'n', 'v', 'x')
  if found[1] and not (found[3] and tonumber(found[3]) <= now) then return { found[1], found[2] } end
  return false
end

local function set(value, ttl, expected, keeps)
  local found = read(key)
  if expected ~= '' and expected ~= (found and found[1] or '0') then return false end
  local left = keeps == '1' and found and tonumber(redis.call('HGET', key, 'x') or nil)
  if left then ttl = math.max(1, left - now) end
  local version = math.max(tonumber(redis.call('GET', root .. 'version') or 0) + 1, now)
  redis.call('SET', root .. 'version', version)
  redis.call('DEL', key)
  redis.call('HSET', key, 'n', version, 'v', value)
  if ttl ~= '' then
    redis.call('HSET', key, 'x', now + ttl)
    redis.call('PEXPIRE', key, ttl)
  end
  redis.call('ZADD', index, 0, name)
  signal({ 'kv:' .. name })
  return version
end

local function delete()
  local found = read(key)
  redis.call('ZREM', index, name)
  redis.call('DEL', key)
  if not found then return 0 end
  signal({ 'kv:' .. name })
  return 1
end

local function list(limit, after)
  local keys, from = {}, after == '' and '[' .. name or '(' .. after
  while #keys < limit do
    local slice = redis.call('ZRANGEBYLEX', index, from, '[' .. name .. '\255', 'LIMIT', 0, limit)
    for _, each in ipairs(slice) do
      if not read(root .. 'value:' .. each) then
        redis.call('ZREM', index, each)
      elseif #keys < limit then
        keys[#keys + 1] = each
      end
      from = '(' .. each
    end
    if #slice < limit then break end
  end
  return keys
end

if what == 'get' then return read(key) end
if what == 'set' then return set(ARGV[5], ARGV[6], ARGV[7], ARGV[8]) end
if what == 'delete' then return delete() end
return list(tonumber(ARGV[5]), ARGV[6])
