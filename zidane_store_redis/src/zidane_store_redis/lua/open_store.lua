-- Write down how this store is laid out, where nobody has.
--
-- KEYS[1] layout, hash
-- ARGV[1] format  [2] shards
-- Reply {format, shards} as they are written down

redis.call("HSETNX", KEYS[1], "format", ARGV[1])
redis.call("HSETNX", KEYS[1], "shards", ARGV[2])
return redis.call("HMGET", KEYS[1], "format", "shards")
