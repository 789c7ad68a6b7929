"""Noise on a grid in decimal arithmetic, number by number, as the head of `native/grid.c` describes it."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Sequence
from decimal import Decimal

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

DIGITS = decimal.Context(prec=130)  # 1 - v may be 2^-289
ENOUGH = decimal.Context(prec=60)
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
)


def block(key: bytes, number: int, stream: int) -> tuple[int, ...]:
    """The 16 words of a block of one of the key's streams."""
    cipher = Cipher(ChaCha20(key, struct.pack("<QQ", number, stream)), mode=None)
    return struct.unpack("<16I", cipher.encryptor().update(bytes(64)))


def radius(digits: Sequence[int]) -> Decimal:
    """sqrt(-2 log v), v = 0. digits 1 in binary, 32 in each word."""
    whole = 0
    for word in digits:
        whole = whole << 32 | word
    v = DIGITS.divide(Decimal(2 * whole + 1), Decimal(2 ** (32 * len(digits) + 1)))
    return ENOUGH.sqrt(ENOUGH.multiply(-2, DIGITS.ln(v)))


def direction(a: int, more: int) -> tuple[Decimal, Decimal]:
    """cos and sin of 2 pi t, t = 0. a more 1 in binary, by their series."""
    with decimal.localcontext(ENOUGH):
        t = Decimal(2 * (a << 32 | more) + 1) / 2**65
        angle = 2 * PI * (t - round(t))
        sums, term, k = [Decimal(0), Decimal(0)], Decimal(1), 0
        while abs(term) > Decimal("1e-55"):
            sums[k % 2] += term if k % 4 < 2 else -term
            k += 1
            term *= angle / k
        return sums[0], sums[1]


def normals(w: int, a: int, more: Sequence[int]) -> tuple[Decimal, Decimal]:
    """The two normals of a pair."""
    r, (cosine, sine) = radius([w, *more[:8]]), direction(a, more[8])
    return ENOUGH.multiply(r, cosine), ENOUGH.multiply(r, sine)


def perturbed(key: bytes, row: Sequence[float], std: float) -> list[float]:
    """Every entry with its noise, in float64."""
    step = Decimal(1)
    while step > Decimal(std) / 512:
        step /= 2
    while step * 2 <= Decimal(std) / 512:
        step *= 2
    out = []
    for entry, x in enumerate(row):
        g, p, c, i = entry // 256, entry % 256 // 32, entry % 32 // 16, entry % 16
        words = block(key, 16 * g + 2 * (i % 8) + i // 8, 0)
        more = block(key, 128 * g + 16 * p + i, 1)
        z = normals(words[2 * p], words[2 * p + 1], more[:9])[c]
        with decimal.localcontext(DIGITS):
            k = ((Decimal(x) + Decimal(std) * z) / step).to_integral_value(
                decimal.ROUND_HALF_EVEN
            )
        out.append(math.ldexp(float(k), int(math.log2(step))))
    return out
