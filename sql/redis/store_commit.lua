-- Writes a batch of the store, or nothing. It compares rows and knows no rule.
--
-- ARGV: the prefix of all keys; who writes, for its own watches
--       the time (microseconds) before which this must run, for what was decided to hold; 0: any time
--       1 if the batch needs room: it is refused when memory is full. 0: it is written even then
--       the fence floor to be reached; 0: none
--       the lowest fence that a new row can have got; 0: there is none
--       number of rows that were read; of each its key, and its value as it was read: "" if there was none;
--         what ends in a tab is the beginning of a value
--       number of events, the events
--       commands: number of words, the words; and so on
--
-- Answers 1, or, if a row has changed or it is too late, {seconds, microseconds, hidden, floor, values of the rows}: hidden is 1
-- if a key that should not exist does, and is no string.
local call = redis.call
local MOST = 1000 -- values on Lua's stack at once; there is room for 7,999
local prefix, deadline, grows, floor = ARGV[1], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local lowest, count, at = tonumber(ARGV[6]), tonumber(ARGV[7]), 8

local function is_same(value, read)
  if string.byte(read, -1) == 9 then return string.sub(value, 1, #read) == read end
  return value == read
end

local keys, values, missing, changed, hidden = {}, {}, {}, false, 0
for i = 1, count do keys[i] = ARGV[at + 2 * i - 2] end
for from = 1, count, MOST do
  local to = math.min(from + MOST - 1, count)
  local got = call('MGET', unpack(keys, from, to))
  for i = from, to do
    local value, read = got[i - from + 1], ARGV[at + 2 * i - 1]
    values[i] = value
    if not value and read == '' then
      missing[#missing + 1] = keys[i]
    elseif not value or not is_same(value, read) then
      changed = true
    end
  end
end
for from = 1, #missing, MOST do
  if call('EXISTS', unpack(missing, from, math.min(from + MOST - 1, #missing))) > 0 then
    changed, hidden = true, 1
  end
end
-- A row that was made and dropped since it was looked for is not to be seen; its fence has raised the floor.
local floor_read = call('GET', prefix .. 'floor')
local floor_now = tonumber(floor_read or 0)
if lowest > 0 and floor_now >= lowest then changed = true end
local now = call('TIME')
if changed or (deadline > 0 and now[1] * 1000000 + now[2] >= deadline) then
  local answer = {now[1], now[2], hidden, floor_read}
  for i = 1, count do answer[i + 4] = values[i] end
  return answer
end
at = at + 2 * count

-- Nothing may fail once something has been written.
local events = tonumber(ARGV[at])
local first = at + events + 1
local kinds = {ZADD = 'zset', ZREM = 'zset', HSET = 'hash', HDEL = 'hash', SADD = 'set', SREM = 'set', XDEL = 'stream'}
local i = first
while i <= #ARGV do
  local kind = kinds[ARGV[i + 1]]
  local is = kind and call('TYPE', ARGV[i + 2]).ok
  if kind and is ~= 'none' and is ~= kind then return redis.error_reply('FOREIGN ' .. ARGV[i + 2]) end
  i = i + ARGV[i] + 1
end
local stream = prefix .. 'events'
if events > 0 then
  local is = call('TYPE', stream).ok
  if is ~= 'none' and is ~= 'stream' then return redis.error_reply('FOREIGN ' .. stream) end
  call('PUBLISH', prefix .. 'watch', ARGV[2])
end

-- Redis checks the first write of a script for memory, and no other.
if grows == '1' then call('SETRANGE', prefix .. 'seq', 0, '') else call('DEL', prefix .. 'none') end
if events > 0 then
  local seq = call('INCRBY', prefix .. 'seq', events) - events
  for k = 1, events do
    call('XADD', stream, string.format('%.0f-0', seq + k), 'e', ARGV[at + k])
  end
end
if floor > floor_now then call('SET', prefix .. 'floor', ARGV[5]) end
i = first
while i <= #ARGV do
  call(unpack(ARGV, i + 1, i + ARGV[i]))
  i = i + ARGV[i] + 1
end
return 1
