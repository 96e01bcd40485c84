-- Writes a batch of the store, or nothing. It compares values and knows no row and no rule.
--
-- ARGV: the prefix of all keys; who writes, for its own watches
--       the time (microseconds) before which this must run, for what was decided to hold; 0: any time
--       1 if the batch needs room: it is refused when memory is full. 0: it is written even then
--       the fence floor to be reached; 0: none
--       the lowest fence that a new row can have got; 0: there is none
--       number of keys that were read; the keys; of each its value as it was read: "" if there was none;
--         what ends in a line feed is the beginning of a value
--       number of new events, the events; number of old ones, their ids
--       number of values to be written, each with its key before it; number of keys to be removed, the keys
--       commands on sorted sets, as many as there are: number of words, ZADD or ZREM, the key, 0 and a member (ZREM: a member), and so on
--
-- Answers 1, or, if a value has changed or it is too late, {seconds, microseconds, hidden, floor, the values as they are}: hidden
-- is 1 if a key that should not exist does, and is no string.
local call, pcall = redis.call, redis.pcall
local MOST = 1000 -- values on Lua's stack at once, and an even number; there is room for 7,999
local FEW = 16 -- words of a MSET that are gathered by hand
local prefix, deadline, grows, floor = ARGV[1], tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5])
local lowest, count, at = tonumber(ARGV[6]), tonumber(ARGV[7]), 8

local function is_same(value, read)
  if string.byte(read, -1) == 10 then return string.sub(value, 1, #read) == read end
  return value == read
end

local values, missing, changed, hidden = {}, {}, false, 0
for from = 0, count - 1, MOST do
  local got = call('MGET', unpack(ARGV, at + from, at + math.min(from + MOST, count) - 1))
  if from == 0 then values = got else for i = 1, #got do values[from + i] = got[i] end end
end
for i = 1, count do
  local value, read = values[i], ARGV[at + count + i - 1]
  if not value and read == '' then
    missing[#missing + 1] = ARGV[at + i - 1]
  elseif not value or not is_same(value, read) then
    changed = true
  end
end
for from = 1, #missing, MOST do
  if call('EXISTS', unpack(missing, from, math.min(from + MOST - 1, #missing))) > 0 then
    changed, hidden = true, 1
  end
end
-- A row that was made and dropped since it was looked for is not to be seen; its fence has raised the floor.
local numbers = call('MGET', prefix .. 'floor', prefix .. 'seq')
local floor_now, seq = tonumber(numbers[1] or 0), tonumber(numbers[2] or 0)
if not floor_now then return redis.error_reply('FOREIGN ' .. prefix .. 'floor') end
if not seq then return redis.error_reply('FOREIGN ' .. prefix .. 'seq') end
if lowest > 0 and floor_now >= lowest then changed = true end
local now = call('TIME')
if changed or (deadline > 0 and now[1] * 1000000 + now[2] >= deadline) then
  local answer = {now[1], now[2], hidden, numbers[1]}
  for i = 1, count do answer[i + 4] = values[i] end
  return answer
end
at = at + 2 * count

local events, first_event = tonumber(ARGV[at]), at + 1
at = at + events + 1
local gone, first_gone = tonumber(ARGV[at]), at + 1
at = at + gone + 1
local puts, first_put = tonumber(ARGV[at]), at + 1
at = at + 2 * puts + 1
local dels, first_del = tonumber(ARGV[at]), at + 1
at = at + dels + 1

-- Redis checks the first write of a script for memory, and no other. A set that gets a member is checked, one that loses one is not.
if events > 0 then call('PUBLISH', prefix .. 'watch', ARGV[2]) end
if grows and ARGV[at + 1] ~= 'ZADD' then
  call('SETRANGE', prefix .. 'seq', 0, '')
elseif not grows and ARGV[at + 1] ~= 'ZREM' then
  call('DEL', prefix .. 'none')
end

-- What can fail (a key of someone else's) comes first. Then what was written is taken back: each member was not there, or was.
local function take_back(from, to, reply)
  while from < to do
    local words, fields = tonumber(ARGV[from]), {}
    local adds = ARGV[from + 1] == 'ZADD'
    for i = from + (adds and 4 or 3), from + words, adds and 2 or 1 do
      if not adds then fields[#fields + 1] = 0 end
      fields[#fields + 1] = ARGV[i]
    end
    call(adds and 'ZREM' or 'ZADD', ARGV[from + 2], unpack(fields))
    from = from + words + 1
  end
  return reply
end
local i = at
while i <= #ARGV do
  local reply = pcall(unpack(ARGV, i + 1, i + ARGV[i]))
  if type(reply) == 'table' and reply.err then
    local key = string.find(reply.err, 'WRONGTYPE', 1, true) and ARGV[i + 2]
    return take_back(at, i, key and redis.error_reply('FOREIGN ' .. key) or reply)
  end
  i = i + ARGV[i] + 1
end
local stream = prefix .. 'events'
for k = 1, events do
  local reply = pcall('XADD', stream, string.format('%.0f-0', seq + k), 'e', ARGV[first_event + k - 1])
  if type(reply) == 'table' and reply.err then
    local foreign = string.find(reply.err, 'WRONGTYPE', 1, true)
    return take_back(at, i, foreign and redis.error_reply('FOREIGN ' .. stream) or reply)
  end
end

for from = first_gone, first_gone + gone - 1, MOST do
  call('XDEL', stream, unpack(ARGV, from, math.min(from + MOST, first_gone + gone) - 1))
end
local set = {}
if events > 0 then set = {prefix .. 'seq', string.format('%.0f', seq + events)} end
if floor > floor_now then set[#set + 1], set[#set + 2] = prefix .. 'floor', ARGV[5] end
local last_put = first_put + 2 * puts - 1
while #set < FEW and first_put < last_put do
  set[#set + 1], set[#set + 2] = ARGV[first_put], ARGV[first_put + 1]
  first_put = first_put + 2
end
if #set > 0 then call('MSET', unpack(set)) end
for from = first_put, last_put, MOST do
  call('MSET', unpack(ARGV, from, math.min(from + MOST - 1, last_put)))
end
for from = first_del, first_del + dels - 1, MOST do
  call('DEL', unpack(ARGV, from, math.min(from + MOST, first_del + dels) - 1))
end
return 1
