"""Small signed documents: TOML with the signature in its last line.

    name = "mercy"
    ...
    signature = "128 hexadecimal digits"

The signature is Ed25519 over `dpdl-document-1`, a zero byte, and all bytes before the last line, as
they are: nothing has to be written again in the same way to check it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dpdl.errors import InputError
from dpdl.peer.documents import table_of
from dpdl.peer.keys import SigningKey, verify
from dpdl.peer.toml_text import flat
from dpdl.records import JsonObject

LARGEST = 65536
"""Bytes of a signed document."""
DOMAIN = b"dpdl-document-1\0"
"""Before every signed document, and before nothing else that is signed."""
LAST_LINE = re.compile(rb'^signature = "([0-9a-f]{128})"\n\Z', re.MULTILINE)


class SplitDocument(NamedTuple):
    """A document and its signature, which nobody has checked yet."""

    body: bytes
    signature: bytes


def signed_text(table: JsonObject, key: SigningKey) -> bytes:
    """The document of a table, signed."""
    content = with_signature(table, key.sign(DOMAIN + flat(table).encode()))
    if len(content) > LARGEST:
        raise InputError(f"A signed document must have at most {LARGEST:,} bytes.")
    return content


def with_signature(table: JsonObject, signature: bytes) -> bytes:
    """The document of a table, with a signature that was made before."""
    return flat(table).encode() + f'signature = "{signature.hex()}"\n'.encode()


def split(content: bytes, what: str) -> SplitDocument:
    """The two parts of a document; `what` begins errors, for instance "The card"."""
    if len(content) > LARGEST:
        raise InputError(f"{what} has more than {LARGEST:,} bytes.")
    found = LAST_LINE.search(content, max(0, len(content) - 200))
    if found is None:
        raise InputError(f"{what} has no signature in its last line.")
    return SplitDocument(content[: found.start()], bytes.fromhex(found[1].decode()))


def check_signature(sealed: SplitDocument, public: str, what: str) -> None:
    """Refuse a document that the owner of a key has not signed."""
    if not verify(public, DOMAIN + sealed.body, sealed.signature):
        raise InputError(
            f"{what} is not signed with the key {public[:8]}..., or was changed on its way; send "
            "it again as a file, not as text."
        )


def checked(content: bytes, public: str, what: str) -> JsonObject:
    """The table of a document that the owner of a key has signed; what is not is not parsed."""
    sealed = split(content, what)
    check_signature(sealed, public, what)
    return table_of(sealed.body, what, LARGEST)
