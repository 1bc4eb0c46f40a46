-- The budget of permits of one model: a hash of `epoch`, `results` ("1" clean, "0" bad, oldest first) and `leases`
-- (moments at which each lease that is out runs out, separated by spaces).
-- KEYS[1] hash  ARGV[1] lease|give_back|settle|tally  ARGV[2] epoch  ARGV[3] now  ARGV[4] TTL in ms
-- lease: ARGV[5] want  ARGV[6] budget  ARGV[7] moment the lease runs out;  give_back: ARGV[5] count
-- settle: ARGV[5] "1" or "0".  Answers {granted by this call, permits out or used, results}.
local what, epoch, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.pcall('HMGET', KEYS[1], 'epoch', 'results', 'leases')
if kept.err then
  redis.call('DEL', KEYS[1]) -- something else: no budget
  kept = {}
end
local kept_epoch, results = tonumber(kept[1] or '-1') or -1, kept[2] or ''
if not (kept_epoch < 9007199254740992) then
  kept_epoch = -1
end
if what == 'lease' and epoch > kept_epoch then
  kept_epoch, results, kept[3] = epoch, '', ''
end
if epoch ~= kept_epoch then
  return {0, 0, ''}
end
local leases = {}
for until_at in string.gmatch(kept[3] or '', '%S+') do
  if (tonumber(until_at) or 0) > now then
    leases[#leases + 1] = until_at
  end
end
local granted = 0
if what == 'lease' then
  granted = math.max(0, math.min(tonumber(ARGV[5]), tonumber(ARGV[6]) - #results - #leases))
  for _ = 1, granted do
    leases[#leases + 1] = ARGV[7]
  end
elseif what == 'settle' then
  results = results .. ARGV[5]
  table.remove(leases, 1)
elseif what == 'give_back' then
  for _ = 1, tonumber(ARGV[5]) do
    table.remove(leases, 1)
  end
end
if what ~= 'tally' then
  redis.call('HSET', KEYS[1], 'epoch', kept_epoch, 'results', results, 'leases', table.concat(leases, ' '))
  -- Only ever put off: a lease may be out for longer than what is settled meanwhile asks for.
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
  end
end
return {granted, #results + #leases, results}
