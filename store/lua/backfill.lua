-- Write rows of minutes long closed, unless their writer was declared dead: its fields may have been folded already.
-- KEYS[1] hash of dead writers  KEYS[2] hash of writers  KEYS[3...] one minute for each row
-- ARGV[1] boot id  ARGV[2] now  ARGV[3] TTL of the writers in ms  then for each row: field, value, TTL of its minute in ms
-- Answers -1 when refused, else how many fields the writers' hash got: 1 means it had not known this one.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return -1
end
for i = 3, #KEYS do
  local at = 4 + (i - 3) * 3
  redis.call('HSET', KEYS[i], ARGV[at], ARGV[at + 1])
  redis.call('PEXPIRE', KEYS[i], ARGV[at + 2])
end
local new = redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return new
