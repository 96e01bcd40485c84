-- Takes a lease: KEYS the lease and the last fence, ARGV its value and how long it lives in ms. Answers the fence, or 0. A fence is at
-- least the time in microseconds, so that it grows over a server that has lost the last one.
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return 0
end
local now = redis.call('time')
local last = tonumber(redis.call('get', KEYS[2]) or 0)
local fence = math.max(last + 1, now[1] * 1000000 + now[2])
redis.call('set', KEYS[2], string.format('%.0f', fence))
return fence
