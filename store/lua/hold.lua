-- Take, renew or leave a lease. The fence outlives the holder and grows at each take-over.
-- KEYS[1] hash  ARGV[1] hold|release  ARGV[2] owner  ARGV[3] now  ARGV[4] moment the lease runs out
-- ARGV[5] TTL of the key in ms: long enough that a fence is not forgotten while anybody might still carry a higher one
-- Answers the fence, or nil while another owner holds it.
local kept = redis.pcall('HMGET', KEYS[1], 'owner', 'until', 'fence')
if kept.err then
  redis.call('DEL', KEYS[1]) -- something else: no lease is held by it
  kept = {}
end
local owner, until_at = kept[1] or '', tonumber(kept[2] or '0') or 0
local fence = tonumber(kept[3] or '0') or 0
if not (fence >= 0 and fence < 9007199254740992) then
  fence = 0
end
if ARGV[1] == 'release' then
  if owner == ARGV[2] then
    redis.call('HSET', KEYS[1], 'owner', '', 'until', '0')
  end
  return nil
end
local now = tonumber(ARGV[3])
-- Nobody holds one for longer than was asked for: one that ends later was taken before the fleet's clock was set back.
local alive = owner ~= '' and until_at > now and until_at - now <= 2 * (tonumber(ARGV[4]) - now)
if alive and owner ~= ARGV[2] then
  return nil
end
if not alive then
  -- From the time, so that fences still grow after the store was flushed.
  fence = math.max(fence + 1, math.floor(now))
end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'until', ARGV[4], 'fence', string.format('%.0f', fence))
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return fence
