"""`--token-auth-file`: tokens that are good until the api-server restarts."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from clusters.emulated.apiserver.authentication.outcome import (
    Authenticated,
    Circumstances,
)
from clusters.emulated.apiserver.request import UserInfo


class StaticTokens:
    """Knows these tokens and no others. A token may be added or removed while the cluster runs."""

    def __init__(self, users: Mapping[str, UserInfo]) -> None:
        self.users = dict(users)

    @classmethod
    def from_csv(cls, text: str) -> StaticTokens:
        """Rows of `token,user,uid,"group1,group2"`; the groups may be left out."""
        users = {}
        for row in csv.reader(text.splitlines(), skipinitialspace=True):
            if not row:
                continue
            if len(row) < 3:
                raise ValueError(
                    f"a token file must have at least 3 columns (token, user name, user uid), found {len(row)}"
                )
            if row[0]:
                groups = tuple(row[3].split(",")) if len(row) > 3 else ()
                users[row[0]] = UserInfo(row[1], row[2], groups)
        return cls(users)

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        user = self.users.get(token)
        return None if user is None else Authenticated(user)
