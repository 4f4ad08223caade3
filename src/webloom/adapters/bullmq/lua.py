"""The scripts that run inside Redis: those of the bullmq package, some with code put before them.

BullMQ's guarantees for Node's workers and ours are in its scripts: which list a job is on, its
lock, its counters, its events, who is woken. So they are used unchanged. Where Webloom guarantees
more, the addition runs first, in the same atomic step. Remove it when BullMQ guarantees the same.
tests/unit/test_patched_libraries.py fails when a script with an addition changes.
"""

from __future__ import annotations

from bullmq.redis_connection import loadScript

from webloom.adapters.bullmq.server import Script

FULL = -1000  # what ADD answers when the queue holds as many as it may
UNLOCKED = (-2, -3)  # what it answers when the lock is gone, or the job is not active
MOST_EVENTS = 1000  # in the stream that others can follow a queue by

# A script that has written may write on although Redis is full. What empties a queue has to: it is
# the only thing that makes room. No job has a key with another colon in it.
_THOUGH_FULL = "redis.call('DEL', KEYS[1] .. ':nothing')\n"

# Many clocks would make delays early or late: Redis's is the one that counts.
_NOW = """
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function due(delayed)
  return redis.call('ZCOUNT', delayed, '-inf', (now() + 1) * 0x1000 - 1)
end
"""
_AT_THIS_TIME = _NOW + "ARGV[2] = string.format('%.0f', now())\n"

# An error in the middle of a script leaves a job on no list, or on one that returns it again and
# again. So a counter that is not a number starts again from zero.
_COUNTING = """
local redis = {call = function(...)
  local command, key, field = ...
  if command ~= 'HINCRBY' then return redis.call(...) end
  local answer = redis.pcall(...)
  if type(answer) == 'number' then return answer end
  redis.call('HDEL', key, field)
  return redis.call(...)
end}
"""

# ARGV[1]: prefix. KEYS[2]: active. An id whose key holds something else than a job is dropped when
# its turn comes, and that is an error then; a priority is 0 unless it is one.
_TAKING = """
local redis = {call = function(...)
  local command, key = ...
  if command ~= 'HGET' and command ~= 'HSET' and command ~= 'HMSET' then
    return redis.call(...)
  end
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' and kind ~= 'none' then
    if command ~= 'HMSET' then return false end
    redis.call('LREM', KEYS[2], 1, string.sub(key, #ARGV[1] + 1))
    redis.call('DEL', key .. ':lock')
  end
  local answer = redis.call(...)
  if command ~= 'HGET' then return answer end
  local priority = tonumber(answer)
  return priority and priority > 0 and priority <= 0x200000 and priority or 0
end}
"""

# ARGV[5]: the limit, or -1. A job that has ended makes room for a new one with its id; one that
# waits or runs stands for it. A delayed job whose time has come is ready: BullMQ moves it when
# a consumer asks for jobs.
_BEFORE_ADD = f"""{_NOW}
do
  local given = cmsgpack.unpack(ARGV[1])
  local prefix, id, limit = given[1], given[2], tonumber(ARGV[5])
  local ended = redis.call('ZSCORE', prefix .. 'failed', id)
    or redis.call('ZSCORE', prefix .. 'completed', id)
  if ended or redis.call('EXISTS', prefix .. id) == 0 then
    if limit >= 0 then
      local ready = redis.call('LLEN', prefix .. 'wait') + redis.call('LLEN', prefix .. 'paused')
        + redis.call('ZCARD', prefix .. 'prioritized') + due(prefix .. 'delayed')
      if ready >= limit then return {FULL} end
    end
    if ended then
      redis.call('ZREM', prefix .. 'failed', id)
      redis.call('ZREM', prefix .. 'completed', id)
      redis.call('DEL', prefix .. id, prefix .. id .. ':logs')
    end
    redis.call('HSETNX', prefix .. 'meta', 'opts.maxLenEvents', {MOST_EVENTS})
  end
end
"""

# No handler has seen it: the attempt does not count.
_BEFORE_GIVE_BACK = """
if redis.call('GET', ARGV[3] .. ':lock') == ARGV[2] then
  redis.call('HINCRBY', ARGV[3], 'ats', -1)
end
"""

_BEFORE_PUT_BACK = """
if redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  redis.call('HDEL', KEYS[1], 'stc', 'defa', 'stacktrace')
end
"""

_BEFORE_DISCARD = """
if not redis.call('ZSCORE', ARGV[3] .. 'failed', ARGV[1]) then return 0 end
"""

ADD = Script(_BEFORE_ADD + loadScript("addStandardJob-9.lua"))
ADD_DELAYED = Script(_BEFORE_ADD + loadScript("addDelayedJob-6.lua"))
TAKE = Script(
    _THOUGH_FULL + _AT_THIS_TIME + _COUNTING + _TAKING + loadScript("moveToActive-11.lua")
)
FINISH = Script(
    _AT_THIS_TIME + _COUNTING + loadScript("moveToFinished-14.lua"),
    refusals=dict.fromkeys((-4, -9), "what it depends on is not done"),
)
DELAY = Script(_AT_THIS_TIME + loadScript("moveToDelayed-11.lua"))
GIVE_BACK = Script(_THOUGH_FULL + _BEFORE_GIVE_BACK + loadScript("moveJobFromActiveToWait-9.lua"))
FREE_STALLED = Script(_THOUGH_FULL + _COUNTING + loadScript("moveStalledJobsToWait-9.lua"))
PUT_BACK = Script(_BEFORE_PUT_BACK + loadScript("reprocessJob-9.lua"))
DISCARD = Script(_BEFORE_DISCARD + loadScript("removeJob-2.lua"))

# KEYS: active, stalled, job, wait, then the sorted sets a job can be in, the last for failed ones.
# ARGV: id, token, attempt, reason. A job that FINISH can't bring to its end becomes a failed one
# all the same, perhaps after half of FINISH, unless another consumer has it by now.
PUT_ASIDE = Script(
    _THOUGH_FULL
    + _NOW
    + """
local id, job, failed = ARGV[1], KEYS[3], KEYS[#KEYS]
local holder = redis.call('GET', job .. ':lock')
if holder and holder ~= ARGV[2] then return 0 end
if not holder and redis.call('HGET', job, 'ats') ~= ARGV[3] then return 0 end
if redis.call('LPOS', KEYS[4], id) then return 0 end
for n = 5, #KEYS do
  if redis.call('ZSCORE', KEYS[n], id) then return 0 end
end
redis.call('DEL', job .. ':lock')
redis.call('SREM', KEYS[2], id)
redis.call('LREM', KEYS[1], 0, id)
local time = string.format('%.0f', now())
redis.call('HSET', job, 'failedReason', ARGV[4], 'finishedOn', time)
redis.call('HDEL', job, 'defa')
redis.call('ZADD', failed, time, id)
return 1
"""
)

# KEYS: stalled, active. ARGV: prefix, milliseconds, then id, token and attempt of each job. A lock
# that has run out is taken again if no one has touched the job since: after an outage of Redis all
# of them have, and all consumers are still at work. Answers with the tokens of lost jobs.
RENEW = Script(
    _THOUGH_FULL
    + """
local lost = {}
for n = 3, #ARGV, 3 do
  local id, token, job = ARGV[n], ARGV[n + 1], ARGV[1] .. ARGV[n]
  local holder = redis.call('GET', job .. ':lock')
  if holder == token or (not holder and redis.call('HGET', job, 'ats') == ARGV[n + 2]
      and redis.call('LPOS', KEYS[2], id)) then
    redis.call('SET', job .. ':lock', token, 'PX', ARGV[2])
    redis.call('SREM', KEYS[1], id)
  else
    lost[#lost + 1] = token
  end
end
return lost
"""
)

# KEYS: marker. ARGV: member, score. Wakes another consumer instead of this one.
PASS_ON = Script(_THOUGH_FULL + "return redis.call('ZADD', KEYS[1], 'NX', ARGV[2], ARGV[1])")

# KEYS: a key of one consumer. Ends its wait.
WAKE = Script(
    _THOUGH_FULL
    + "redis.call('ZADD', KEYS[1], 0, 'wake') return redis.call('PEXPIRE', KEYS[1], 60000)"
)

# KEYS: wait, paused, prioritized, delayed, active, failed.
DEPTH = Script(
    _NOW
    + """
local ready = due(KEYS[4])
return {
  redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('ZCARD', KEYS[3]) + ready,
  redis.call('ZCARD', KEYS[4]) - ready,
  redis.call('LLEN', KEYS[5]),
  redis.call('ZCARD', KEYS[6]),
}
"""
)

# KEYS: failed. ARGV: prefix, how many, then the ids that the one before can have.
DEAD_LETTERS = Script("""
local first = 0
for n = 3, #ARGV do
  local rank = redis.call('ZRANK', KEYS[1], ARGV[n])
  if rank then first = rank + 1 break end
end
local letters = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], first, first + ARGV[2] - 1)) do
  local job = redis.pcall('HMGET', ARGV[1] .. id, 'data', 'failedReason', 'finishedOn')
  letters[#letters + 1] = {id, job[1] or false, job[2] or false, job[3] or false}
end
return letters
""")
