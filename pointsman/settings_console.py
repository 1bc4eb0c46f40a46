"""The part of the settings that the operators' pages obey."""

import re
from typing import Annotated, Literal, Self

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, SecretStr, model_validator

CLIENTS_PATH = re.compile(r"/(v1|healthz|readyz|metrics|openapi\.json)(/|$)")
"""What the clients' application answers; see router/api.py."""


class OidcSettings(BaseModel):
    """Logging in with the company's identity provider; needs the extra `pointsman[oidc]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: AnyHttpUrl
    """Its address, as it calls itself; `/.well-known/openid-configuration` is read below it."""
    client_id: Annotated[str, Field(min_length=1, max_length=256)]
    client_secret: SecretStr = SecretStr("")
    scope: Annotated[str, Field(pattern=r"(^|\s)openid(\s|$)")] = "openid profile email"
    """What is asked for; must hold `openid`."""
    name_claim: str = "preferred_username"
    """The name for the audit log; without it the e-mail address."""
    role_claim: str = "groups"
    """Where a person's groups stand; dots lead into nested claims."""
    roles: Annotated[dict[str, Literal["viewer", "operator", "admin"]], Field(min_length=1)]
    """Which group makes whom: the highest counts, and whoever is in none stays out."""


class ConsoleSettings(BaseModel):
    """The operators' pages, on `admin_listen`, and on `listen` only where asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix: Annotated[str, Field(max_length=200, pattern=r"^(/[A-Za-z0-9._~-]+)*$")] = ""
    """The path under which a proxy shows the pages, like /pointsman."""
    on_data_port: bool = False
    """Whether the pages and the admin JSON are reached below `prefix` of `listen` too; switching it on takes a restart."""
    https: bool = False
    """Whether people reach the pages by https; the session cookie is then sent over nothing else."""
    data_url: AnyHttpUrl | None = None
    """Where the pages send test prompts; None: the clients' address of this process."""
    url: AnyHttpUrl | None = None
    """How people reach the pages, without the prefix; needed for `oidc`."""
    oidc: OidcSettings | None = None
    """None: admin tokens only."""

    @model_validator(mode="after")
    def _way_back(self) -> Self:
        if self.oidc is not None and self.url is None:
            raise ValueError("oidc needs `url`: the address that the identity provider sends people back to")
        if self.on_data_port and (not self.prefix or CLIENTS_PATH.match(self.prefix)):
            raise ValueError("on_data_port needs a `prefix` that no path for clients begins with, such as /pointsman")
        return self
