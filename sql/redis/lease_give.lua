-- Gives a lease back, if the value is still one's own, and tells those who wait: ARGV the value, the channel, what to say there.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], ARGV[3])
return 1
