"""The shortest loop that lxml allows over an RSS feed: the text of every element, no more.

    python -m bench.peers.lxml_loop --feed PATH

Nothing is normalised, sanitised, hashed or repaired. Prints {"items": ..., "per_second": ...}.
"""

import argparse
import json
import time

from lxml import etree  # type: ignore[import-not-found, import-untyped, unused-ignore]


def count_items(path: str) -> int:
    items = 0
    for _, item in etree.iterparse(path, tag="item", recover=True, huge_tree=True):
        if {child.tag: child.text for child in item}:
            items += 1
        item.clear()
        while item.getprevious() is not None:
            del item.getparent()[0]
    return items


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--feed", required=True)
    feed = parser.parse_args().feed
    started = time.perf_counter()
    items = count_items(feed)
    print(json.dumps({"items": items, "per_second": items / (time.perf_counter() - started)}))


if __name__ == "__main__":
    main()
