-- Runs every command that the store may run, on keys of its own: an account that lacks a right is found out before anything is
-- half written. ARGV: the prefix of all keys. Answers the error of the first command that is refused, with its name.
local key, first = ARGV[1] .. 'probe:'
local function try(...)
  local answer = not first and redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    local denied = string.find(answer.err, 'The user executing', 1, true) or string.find(answer.err, 'NOPERM', 1, true)
    first = {err = denied and 'DENIED ' .. (...) .. ': ' .. answer.err or answer.err}
  end
end
try('PUBLISH', ARGV[1] .. 'watch', '')
try('PUBLISH', ARGV[1] .. 'replicas', '')
try('TIME')
try('SETRANGE', key .. 's', 0, '')
try('DEL', key .. 's', key .. 'x')
try('MSET', key .. 's', '1')
try('MGET', key .. 's')
try('EXISTS', key .. 's')
try('TYPE', key .. 's')
try('ZADD', key .. 'z', 0, 'a')
try('ZRANGEBYLEX', key .. 'z', '-', '+')
try('ZLEXCOUNT', key .. 'z', '-', '+')
try('ZREM', key .. 'z', 'a')
try('XADD', key .. 'x', '1-0', 'e', 'a')
try('XRANGE', key .. 'x', '-', '+')
try('XDEL', key .. 'x', '1-0')
redis.pcall('DEL', key .. 's', key .. 'z', key .. 'x')
return first or 1
