-- Store a state document if the kept epoch is the expected one and the fence is not lower; then tell who listens.
-- What is no document at all is as good as gone.
-- KEYS[1] document  ARGV[1] expected epoch (0: none kept)  ARGV[2] new document  ARGV[3] its fence  ARGV[4] TTL in ms
-- ARGV[5] what the caller read and could not understand, if it did: as good as gone too, as long as it still stands there
local kept = redis.pcall('GET', KEYS[1])
local epoch, fence = 0, 0
if type(kept) == 'string' and kept ~= ARGV[5] then
  local read, document = pcall(cjson.decode, kept)
  if read and type(document) == 'table' then
    epoch, fence = tonumber(document.epoch) or 0, tonumber(document.fence) or 0
  end
end
if epoch ~= tonumber(ARGV[1]) or tonumber(ARGV[3]) < fence then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
-- A user without the right to publish may still write: it is only a nudge (store/redis_nudge.py).
redis.pcall('PUBLISH', '{state}:nudge', KEYS[1])
return 1
