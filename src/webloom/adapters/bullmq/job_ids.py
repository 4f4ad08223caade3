"""Message ids as BullMQ's job ids, and back.

A job's id is a part of the names of its keys in Redis, where some names are reserved, and Node's
package refuses whole numbers and colons. Such ids are written as "~" and a percent-encoded form.
Ids of other programs' jobs stay as they are, except for those that are not UTF-8: they are shown in
that form too.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from bullmq.queue_keys import QueueKeys

_MARK = "~"
_KEEPING = "surrogateescape"  # keeps bytes that are not UTF-8
_RESERVED = frozenset(QueueKeys().getKeys("any"))  # "wait", "active", "meta" and so on


def job_id_from(raw: bytes) -> str:
    return raw.decode(errors=_KEEPING)


def to_job_id(message_id: str) -> str:
    if (
        message_id in _RESERVED
        or message_id.removeprefix("-").isdecimal()
        or ":" in message_id
        or message_id.startswith(_MARK)
    ):
        return _MARK + quote(message_id, safe="")
    return message_id


def to_message_id(job_id: str) -> str:
    if not _is_text(job_id):
        return _MARK + quote(job_id, safe="", errors=_KEEPING)
    if not job_id.startswith(_MARK):
        return job_id
    message_id = unquote(job_id.removeprefix(_MARK))
    return message_id if to_job_id(message_id) == job_id else job_id


def possible_job_ids(message_id: str) -> list[str]:
    """Ids that the job of a message may have: Webloom's, or another program's."""
    ids = [to_job_id(message_id), message_id]
    if message_id.startswith(_MARK):
        raw = unquote(message_id.removeprefix(_MARK), errors=_KEEPING)
        if not _is_text(raw):
            ids.append(raw)
    return list(dict.fromkeys(ids))


def _is_text(job_id: str) -> bool:
    try:
        job_id.encode()
    except UnicodeEncodeError:
        return False
    return True
