-- What a program that uses Redis for locks runs to give one back: deletes the key if the value is still its own.
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
