"""Sends notifications: webhooks directly, everything else through Apprise."""

from __future__ import annotations

from typing import Self

from webloom.adapters.notify import apprise_process, webhook
from webloom.adapters.notify.apprise_process import AppriseNotifier
from webloom.adapters.notify.webhook import WebhookNotifier
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.sending import Lane
from webloom.domain.watch import Target
from webloom.parsing.target_url import is_webhook, scheme_of, shown_target
from webloom.ports.notifier import NotificationMessage


class TargetNotifier:
    """To be opened by `async with`."""

    def __init__(
        self,
        *,
        policy: NetworkPolicy,
        refusals: RefusalLog | None = None,  # default: one of its own
    ) -> None:
        self._webhooks = WebhookNotifier(policy=policy, refusals=refusals)
        self._apprise = AppriseNotifier(policy=policy, refusals=refusals)

    async def __aenter__(self) -> Self:
        await self._webhooks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._webhooks.__aexit__(*exc)

    async def send(self, target: Target, message: NotificationMessage) -> None:
        if is_webhook(target.url):
            await self._webhooks.send(target, message)
        else:
            await self._apprise.send(target, message)

    def lane(self, target_url: str) -> Lane:
        """Webhooks of one host and port, and the targets of one service, are one destination."""
        if is_webhook(target_url):
            return Lane(name="webhook", limit=webhook.AT_ONCE, destination=shown_target(target_url))
        return Lane(
            name="apprise", limit=apprise_process.AT_ONCE, destination=scheme_of(target_url)
        )
