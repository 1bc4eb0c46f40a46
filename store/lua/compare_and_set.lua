-- Store a state document if the kept epoch is the expected one and the fence is not lower.
-- KEYS[1] document  ARGV[1] expected epoch (0: none kept)  ARGV[2] new document  ARGV[3] its fence  ARGV[4] TTL in ms
local kept = redis.call('GET', KEYS[1])
local epoch, fence = 0, 0
if kept then
  local document = cjson.decode(kept)
  epoch, fence = document.epoch or 0, document.fence or 0
end
if epoch ~= tonumber(ARGV[1]) or tonumber(ARGV[3]) < fence then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
return 1
