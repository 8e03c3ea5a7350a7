"""Philox words and what is made of them."""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.rng import KEY_STEPS, LOW_32, MULTIPLIERS, ROUNDS, SEGMENT_BITS

_M0, _M1 = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])
_W0, _W1 = np.uint64(KEY_STEPS[0]), np.uint64(KEY_STEPS[1])
_ROUNDS = ROUNDS
_HALF = np.uint64(32)
_LOW = np.uint64(LOW_32)
_LANES = 64
_MANTISSA_SHIFT = np.int64(52 - SEGMENT_BITS)
_MANTISSA_MASK = np.int64((1 << (52 - SEGMENT_BITS)) - 1)
_MANTISSA_UNIT = 2.0 ** -(52 - SEGMENT_BITS)
_SEGMENT_BIAS = np.int64(1023 << SEGMENT_BITS)


@kernel
def philox_words(key, ids, stream, out):
    """out (N, blocks, 4): block b of image i is Philox of the counter (b, stream, id).

    Words sit in 64-bit lanes, and 64 blocks go through lane buffers before they are interleaved:
    that is what the compiler turns into vector code.
    """
    images, blocks, _ = out.shape
    lane0, lane1 = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    lane2, lane3 = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    for i in range(images):
        row = out[i]
        low, high = ids[i] & _LOW, ids[i] >> _HALF
        for start in range(0, blocks, _LANES):
            for lane in range(_LANES):
                c0, c1, c2, c3 = np.uint64(start + lane), np.uint64(stream), low, high
                k0, k1 = key & _LOW, key >> _HALF
                for _ in range(_ROUNDS):
                    p0, p1 = c0 * _M0, c2 * _M1
                    c0 = (p1 >> _HALF) ^ c1 ^ k0
                    c2 = (p0 >> _HALF) ^ c3 ^ k1
                    c1, c3 = p1 & _LOW, p0 & _LOW
                    k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
                lane0[lane], lane1[lane], lane2[lane], lane3[lane] = c0, c1, c2, c3
            for lane in range(min(_LANES, blocks - start)):
                block = row[start + lane]
                block[0], block[1] = lane0[lane], lane1[lane]
                block[2], block[3] = lane2[lane], lane3[lane]


@kernel
def uniforms(words, low, high, out):
    """low + (high - low) (w + 1/2) / 2**32; words and out are flat."""
    for i in range(words.size):
        out[i] = low + (high - low) * ((np.float64(words[i]) + 0.5) * 2.0**-32)


@kernel
def scaled(words, below, out):
    """(w * below) >> 32; words and out are flat."""
    for i in range(words.size):
        out[i] = np.uint32((np.uint64(words[i]) * np.uint64(below)) >> _HALF)


@kernel
def normals(words, segments, out):
    """Cubic pieces of the normal quantile, see rng.normal_segments; words and out are flat."""
    for i in range(words.size):
        word = words[i]
        upper = word >> np.uint32(31)
        folded = np.uint32(~word) if upper else word
        bits = np.float64(np.int64(folded) * 2 + 1).view(np.int64)
        piece = (bits >> _MANTISSA_SHIFT) - _SEGMENT_BIAS
        t = np.float64(bits & _MANTISSA_MASK) * _MANTISSA_UNIT
        z = segments[piece, 0] + t * (
            segments[piece, 1] + t * (segments[piece, 2] + t * segments[piece, 3])
        )
        out[i] = z if upper else -z


@kernel
def table_noise(images, words, table, out):
    """Walker's alias look-up per value; all arrays flat, table (256 * 256,)."""
    for i in range(images.size):
        word = words[i]
        column = word >> np.uint32(24)
        entry = table[np.uint32(images[i]) << np.uint32(8) | column]
        keep = (word & np.uint32(0xFFFFFF)) < (entry >> np.uint32(8))
        out[i] = np.uint8(column if keep else entry & np.uint32(255))
