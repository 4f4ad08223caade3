"""The bullmq package by itself: a worker whose processor does nothing.

    python -m bench.peers.bare_bullmq --url redis://... --messages 5000 --width 32

Prints {"per_second": ...}.
"""

import argparse
import asyncio
import json
import time
from typing import Any

import uvloop
from bullmq import Queue, Worker

QUEUE = "bare"


async def consume(url: str, messages: int, width: int) -> float:
    queue = Queue(QUEUE, {"connection": url})
    await queue.obliterate(force=True)
    data = {"text": "x" * 300}
    options = {"removeOnComplete": True, "attempts": 3}
    for start in range(0, messages, 500):
        await queue.addBulk(
            [
                {"name": QUEUE, "data": data, "opts": options | {"jobId": f"job-{number}"}}
                for number in range(start, min(start + 500, messages))
            ]
        )
    done = asyncio.Event()
    served = 0

    async def process(job: Any, token: str) -> None:
        nonlocal served
        served += 1
        if served == messages:
            done.set()

    started = time.perf_counter()
    worker = Worker(QUEUE, process, {"connection": url, "concurrency": width})
    await done.wait()
    seconds = time.perf_counter() - started
    await worker.close()
    await queue.close()
    return messages / seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    given = parser.parse_args()
    print(json.dumps({"per_second": uvloop.run(consume(given.url, given.messages, given.width))}))


if __name__ == "__main__":
    main()
