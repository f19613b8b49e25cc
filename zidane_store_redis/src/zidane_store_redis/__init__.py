"""zidane sessions in Redis and Valkey: one server, Sentinel, Cluster."""

from ._examination import EvictionError
from .options import RedisOptions
from .store import REDIS_CAPABILITIES, RedisStore, ShardsMismatchError

__all__ = ["REDIS_CAPABILITIES", "EvictionError", "RedisOptions", "RedisStore", "ShardsMismatchError"]
