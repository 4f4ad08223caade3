"""The barest confirmed publishing that aio-pika does: so many at a time on one channel.

    python -m bench.peers.bare_aio_pika --url amqp://... --messages 20000 --width 128

Prints {"per_second": ...}.
"""

import argparse
import asyncio
import json
import time

import aio_pika
import uvloop
from aio_pika import DeliveryMode, Message

QUEUE = "bare"


async def publish(url: str, messages: int, width: int, body: bytes) -> float:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel(publisher_confirms=True)
        await (await channel.declare_queue(QUEUE, durable=True)).purge()
        numbers = iter(range(messages))

        async def one_after_the_other() -> None:
            for number in numbers:
                await channel.default_exchange.publish(
                    Message(
                        body, delivery_mode=DeliveryMode.PERSISTENT, message_id=f"message-{number}"
                    ),
                    routing_key=QUEUE,
                    mandatory=True,
                )

        started = time.perf_counter()
        await asyncio.gather(*(one_after_the_other() for _ in range(width)))
        seconds = time.perf_counter() - started
        await channel.queue_delete(QUEUE)
        return messages / seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    given = parser.parse_args()
    body = b"x" * 300
    per_second = uvloop.run(publish(given.url, given.messages, given.width, body))
    print(json.dumps({"per_second": per_second}))


if __name__ == "__main__":
    main()
