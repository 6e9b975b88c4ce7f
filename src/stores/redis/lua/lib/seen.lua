-- Remembers digests (16 characters of base64url) for seven days, each with a value. They are spread
-- over 16,384 hashes, so that Redis stores these as listpacks: 40 bytes per digest instead of 180
-- for a key of its own. A topic has 64 hashes, because topics are many and small. `trim-rest.lua`
-- and `trim-topic.lua` remove old digests.

-- Texts, because Lua formats numbers slowly.
local QUARTERS = { [0] = '0', '1', '2', '3' }
local topic_seen = root .. 'topic-seen:'

local function seen_bucket(base, digest)
  if base == topic_seen then return base .. string.sub(digest, 1, 1) end
  return base .. string.sub(digest, 1, 2) .. QUARTERS[string.byte(digest, 3) % 4]
end

-- The current time in seconds, stored in front of each value.
local seen_time = struct.pack('>I4', math.ceil(now / 1000))

-- The value given to `seen_put`, or nil if the digest was not seen within seven days.
local function seen_get(base, digest)
  local stored = redis.call('HGET', seen_bucket(base, digest), string.sub(digest, 3))
  if not stored or now / 1000 - struct.unpack('>I4', stored) >= KEY_TTL then return nil end
  return string.sub(stored, 5)
end

local function seen_put(base, digest, value)
  local bucket = seen_bucket(base, digest)
  redis.call('HSET', bucket, string.sub(digest, 3), seen_time .. value)
  redis.call('EXPIRE', bucket, KEY_TTL)
end

-- Stores the value of a new digest and returns nil; for a known digest returns its value. Needs one
-- command for a new digest. Sets no expiry: `trim-rest.lua` removes old digests.
local function seen_first(base, digest, value)
  local bucket, field = seen_bucket(base, digest), string.sub(digest, 3)
  local stored = seen_time .. value
  if redis.call('HSETNX', bucket, field, stored) == 1 then return nil end
  local known = seen_get(base, digest)
  if not known then redis.call('HSET', bucket, field, stored) end
  return known
end

-- Removes digests older than seven days from the hash of this digest.
local function forget_old(base, digest)
  local bucket = seen_bucket(base, digest)
  local stored = redis.call('HGETALL', bucket)
  for each = 1, #stored, 2 do
    if now / 1000 - struct.unpack('>I4', stored[each + 1]) >= KEY_TTL then redis.call('HDEL', bucket, stored[each]) end
  end
end
