"""Messages through a broker of Webloom's, as a process of its own.

    python -m bench.through_broker publish --url amqp://... --messages 20000 --width 128
    python -m bench.through_broker consume --url redis://... --messages 5000 --width 32

Prints {"per_second": ...}. What is published before a `consume` is not timed.
"""

import argparse
import asyncio
import json
import tempfile
import time

import uvloop

from webloom.bootstrap.connections import open_services
from webloom.ports.broker import Broker, Message
from webloom.settings import load_settings

QUEUE = "storage-agent"  # one without a limit


async def publish(broker: Broker, messages: int, width: int) -> float:
    numbers = iter(range(messages))
    body = json.dumps({"text": "x" * 288}).encode()

    async def one_after_the_other() -> None:
        for number in numbers:
            await broker.publish(QUEUE, Message(id=f"message-{number}", body=body))

    started = time.perf_counter()
    await asyncio.gather(*(one_after_the_other() for _ in range(width)))
    return messages / (time.perf_counter() - started)


async def consume(broker: Broker, messages: int, width: int) -> float:
    body = json.dumps({"text": "x" * 300}).encode()
    for start in range(0, messages, 500):
        numbers = range(start, min(start + 500, messages))
        await broker.publish_many(QUEUE, [Message(id=f"job-{n}", body=body) for n in numbers])
    done = asyncio.Event()
    served = 0
    started = time.perf_counter()
    async with broker.deliveries(QUEUE, width) as deliveries:

        async def serve() -> None:
            nonlocal served
            while True:
                delivery = await anext(deliveries)
                await delivery.ack()
                served += 1
                if served == messages:
                    done.set()

        slots = [asyncio.create_task(serve()) for _ in range(width)]
        await done.wait()
        seconds = time.perf_counter() - started
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    return messages / seconds


async def measure(action: str, url: str, messages: int, width: int) -> float:
    doing = publish if action == "publish" else consume
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"WEBLOOM_BROKER": url, "WEBLOOM_DATA_DIR": folder})
        async with open_services(settings) as services:
            return await doing(services.broker, messages, width)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("publish", "consume"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    given = parser.parse_args()
    per_second = uvloop.run(measure(given.action, given.url, given.messages, given.width))
    print(json.dumps({"per_second": per_second}))


if __name__ == "__main__":
    main()
