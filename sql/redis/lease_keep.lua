-- Lets a lease live on for so many ms, if the value is still one's own.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
