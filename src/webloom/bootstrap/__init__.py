"""Settings -> adapters -> use cases: the only wiring there is.

connections.py: open_services, open_whole, open_copy
  +-- backends.py ---- brokers.py, and a file for each store: a backend for an address
  +-- services.py ---- use_cases.py: what the entry points call
                         +-- network.py: the way out of the process

Import from the submodules: a command loads only what it needs.
"""
