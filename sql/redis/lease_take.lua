-- Takes a lease: KEYS the lease and the counter of fences, ARGV its value and how long it lives in ms. Answers the fence, or 0.
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.call('incr', KEYS[2])
end
return 0
