"""Translates the client library's exceptions into Webloom's errors."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from aiormq.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelAccessRefused,
    ChannelPreconditionFailed,
    ProbableAuthenticationError,
)

from webloom.adapters.rabbitmq.transport import Transport
from webloom.domain.errors import BackendRefused, BrokerUnavailable

_ARGUMENT = re.compile(r"inequivalent arg '([^']*)' for queue '([^']*)'")
NOT_ALLOWED = 530


@contextmanager
def translating(address: str) -> Iterator[None]:
    """Around every library call that talks to the server."""
    task = asyncio.current_task()
    cancelled = 0 if task is None else task.cancelling()
    try:
        yield
        if task is not None and task.cancelling() > cancelled:
            raise asyncio.CancelledError  # which the library swallowed
    except asyncio.CancelledError as error:
        # The library cancels its callers when a connection ends.
        if task is None or task.cancelling():
            raise
        raise BrokerUnavailable(f"the connection to RabbitMQ at {address} is lost") from error
    except ChannelPreconditionFailed as error:
        raise _declared_otherwise(address, str(error)) from error
    except ChannelAccessRefused as error:
        raise BackendRefused(
            f"RabbitMQ at {address} denies access to this user: {error}. Give it configure, write"
            " and read permissions on its virtual host (rabbitmqctl set_permissions)."
        ) from error
    except TimeoutError as error:
        raise BrokerUnavailable(f"RabbitMQ at {address} does not answer") from error
    except RuntimeError as error:  # of a closed channel or connection
        raise BrokerUnavailable(f"the connection to RabbitMQ at {address} is lost") from error
    except (AMQPError, OSError) as error:
        raise BrokerUnavailable(f"RabbitMQ at {address}: {text_of(error)}") from error


def _declared_otherwise(address: str, text: str) -> BackendRefused | BrokerUnavailable:
    found = _ARGUMENT.search(text)
    if found is None:
        return BrokerUnavailable(f"RabbitMQ at {address}: {text}")
    argument, queue = found.groups()
    return BackendRefused(
        f"the queue {queue} on RabbitMQ at {address} was declared with another {argument}"
        f" ({text}). Delete the queue when it is empty, or make WEBLOOM_QUEUE_LIMIT and"
        " WEBLOOM_QUORUM_QUEUES as they were when it was declared."
    )


def refusal(error: Exception, transport: Transport, address: str) -> BackendRefused | None:
    """Why connecting fails until a person acts. None: a retry can help."""
    if transport.is_other_protocol:
        return BackendRefused(
            f"the server at {address} is not RabbitMQ, or expects another protocol: check host,"
            " port and amqp:// or amqps:// in WEBLOOM_BROKER"
        )
    if isinstance(error, ssl.SSLError):
        return BackendRefused(
            f"no TLS connection with {address}: {text_of(error)}. Check the certificates, and"
            " amqp:// or amqps:// in WEBLOOM_BROKER."
        )
    if isinstance(error, (ProbableAuthenticationError, AuthenticationError)):
        return BackendRefused(
            f"RabbitMQ at {address} refuses the user or the password: check them in WEBLOOM_BROKER"
        )
    code, words = transport.refusal() or (0, "")
    if code == NOT_ALLOWED and "limit" not in words:  # a limit on connections is temporary
        return BackendRefused(
            f"RabbitMQ at {address} refuses the virtual host: {words}. Create it, or give the user"
            " permissions on it (rabbitmqctl add_vhost, set_permissions)."
        )
    return None


def text_of(error: Exception) -> str:
    return str(error) or type(error).__name__
