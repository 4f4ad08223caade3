"""Data and queued messages as the version before the redesign wrote them.

`data/` holds what `make.py` wrote there with the code of that version: an SQLite file, the
documents and indexes of a MongoDB database, and the queues of the three brokers in the form in
which each keeps them. `view.py` shows what the stores hold, as plain values; `data/seen.json.gz` is
what it showed then.
"""
