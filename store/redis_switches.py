"""The operators' switches: hash `{switch}:all`, route (empty: the fleet) -> JSON of Switch. The last word stands."""

from collections.abc import Sequence

from base.switch import Switch
from store.documents import all_understood, to_json
from store.redis_link import RedisLink

KEY = "{switch}:all"


class RedisSwitches:
    """All methods raise StoreUnavailable."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def load(self) -> Sequence[Switch]:
        """All that were ever set, those that are over too; what is no switch sets nothing."""
        kept: dict[bytes, bytes] = await self._link.ask(lambda client: client.hgetall(KEY))
        return sorted(all_understood(Switch, kept.values()), key=lambda switch: switch.route)

    async def put(self, switch: Switch) -> None:
        await self._link.ask(lambda client: client.hset(KEY, switch.route, to_json(switch)))

    async def put_back(self, switch: Switch) -> None:
        """What the store has lost; a newer word stands."""
        await self._link.ask(lambda client: client.hsetnx(KEY, switch.route, to_json(switch)))
