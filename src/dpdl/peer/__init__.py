"""One process per organisation: each has its own records, noise and ledger, and there is no server.

`docs/peers.md` says how organisations use it and what it protects against.
"""
