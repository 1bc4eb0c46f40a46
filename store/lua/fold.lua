-- Add the fields of dead writers up into one per scope, in some closed minutes of one model.
-- KEYS[1] hash of dead writers  KEYS[2...] minutes  ARGV[1] TTL of the dead in ms  ARGV[2...] boot ids that are dead
-- A dead writer is marked before its fields go, so that what it still sends late is refused (backfill.lua).
local dead = {}
for i = 2, #ARGV do
  dead[ARGV[i]] = true
  redis.call('HSET', KEYS[1], ARGV[i], '1')
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local function added(sum, part)
  for name, value in pairs(part or {}) do
    sum[name] = (sum[name] or 0) + value
  end
end
-- Versions of the detector: a set, kept as a list.
local function united(set, list)
  for _, version in ipairs(list or {}) do
    set[version] = true
  end
end
-- What is no row goes with its writer and adds nothing: it must not keep the others from being folded.
local function sound(part)
  if part == nil then
    return true
  end
  if type(part) ~= 'table' then
    return false
  end
  for _, value in pairs(part) do
    if type(value) ~= 'number' or not (value >= 0 and value <= 1e15) then
      return false
    end
  end
  return true
end
local function row_in(document)
  local read, row = pcall(cjson.decode, document)
  if not (read and type(row) == 'table' and sound(row.counts) and sound(row.fingerprints)) then
    return {}
  end
  if type(row.by) ~= 'table' then
    row.by = nil
  end
  return row
end
local folded = 0
for i = 2, #KEYS do
  local sums, gone = {}, {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[i])) do
    local boot, scope = string.match(field, '^([^|]*)|(.*)$')
    if boot and dead[boot] then
      gone[#gone + 1] = field
      sums[scope] = sums[scope] or { counts = {}, fingerprints = {}, by = {} }
    end
  end
  for _, field in ipairs(gone) do
    local scope = string.match(field, '^[^|]*|(.*)$')
    local row = row_in(redis.call('HGET', KEYS[i], field))
    added(sums[scope].counts, row.counts)
    added(sums[scope].fingerprints, row.fingerprints)
    united(sums[scope].by, row.by)
  end
  for scope, sum in pairs(sums) do
    local kept = redis.call('HGET', KEYS[i], 'folded|' .. scope)
    if kept then
      local row = row_in(kept)
      added(sum.counts, row.counts)
      added(sum.fingerprints, row.fingerprints)
      united(sum.by, row.by)
    end
    local versions = {}
    for version in pairs(sum.by) do
      versions[#versions + 1] = version
    end
    table.sort(versions)
    -- An empty table would be written as a list.
    local parts = {}
    for _, name in ipairs({ 'counts', 'fingerprints' }) do
      parts[#parts + 1] = '"' .. name .. '":' .. (next(sum[name]) and cjson.encode(sum[name]) or '{}')
    end
    parts[#parts + 1] = '"by":' .. (#versions > 0 and cjson.encode(versions) or '[]')
    redis.call('HSET', KEYS[i], 'folded|' .. scope, '{' .. table.concat(parts, ',') .. '}')
  end
  if #gone > 0 then
    redis.call('HDEL', KEYS[i], unpack(gone))
    folded = folded + #gone
  end
end
return folded
