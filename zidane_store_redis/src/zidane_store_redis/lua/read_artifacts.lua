-- The artifacts of sessions. Writes nothing.
--
-- KEYS  head and artifacts of one session, then of the next
-- Reply {{state that put_artifact compares with, or nil without a session; artifacts}...}

local found = {}
for at = 1, #KEYS, 2 do
  found[#found + 1] = { redis.call("HGET", KEYS[at], "artifacts_at"), redis.call("HGETALL", KEYS[at + 1]) }
end
return found
