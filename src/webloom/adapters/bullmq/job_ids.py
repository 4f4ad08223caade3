"""Message ids as BullMQ's job ids, and back.

A job's id is a part of the names of its keys in Redis, where some names are taken, and Node's
package refuses whole numbers and colons. Such ids are written as "~" and a percent-encoded form.
Ids that others have given to their jobs stay as they are.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from bullmq.queue_keys import QueueKeys  # type: ignore[import-untyped]

_MARK = "~"
_TAKEN = frozenset(QueueKeys().getKeys("any"))  # "wait", "active", "meta" and their like


def to_job_id(message_id: str) -> str:
    if (
        message_id in _TAKEN
        or message_id.removeprefix("-").isdecimal()
        or ":" in message_id
        or message_id.startswith(_MARK)
    ):
        return _MARK + quote(message_id, safe="")
    return message_id


def to_message_id(job_id: str) -> str:
    message_id = unquote(job_id.removeprefix(_MARK))
    return message_id if to_job_id(message_id) == job_id else job_id


def possible_job_ids(message_id: str) -> list[str]:
    """Under which the job of a message can be found: its own, and one that somebody else gave."""
    return list(dict.fromkeys((to_job_id(message_id), message_id)))
