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
_LINE = 16  # words in a line of a processor's cache
_1, _2, _3, _4 = np.uint32(1), np.uint32(2), np.uint32(3), np.uint32(4)
_8, _24, _31, _LOW_8 = np.uint32(8), np.uint32(24), np.uint32(31), np.uint32(255)
_MANTISSA_SHIFT = np.int64(52 - SEGMENT_BITS)
_MANTISSA_MASK = np.int64((1 << (52 - SEGMENT_BITS)) - 1)
_MANTISSA_UNIT = 2.0 ** -(52 - SEGMENT_BITS)
_SEGMENT_BIAS = np.int64(1023 << SEGMENT_BITS)


@kernel
def philox_words(key, ids, stream, out):
    """out (N, blocks, 4): block b of image i is Philox of the counter (b, stream, id).

    Words sit in 64-bit lanes, whose upper halves are cut off only where a word is multiplied or
    stored; 64 blocks go through lane buffers before they are interleaved. Indices there are
    unsigned, as in warps.py: all this is what the compiler turns into vector code.
    """
    images, blocks, _ = out.shape
    lane0, lane1 = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    lane2, lane3 = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    for i in range(images):
        words = out[i].reshape(-1)
        low, high = ids[i] & _LOW, ids[i] >> _HALF
        for start in range(0, blocks, _LANES):
            for lane in range(_LANES):
                c0, c1, c2, c3 = np.uint64(start + lane), np.uint64(stream), low, high
                k0, k1 = key & _LOW, key >> _HALF
                for _ in range(_ROUNDS):
                    p0, p1 = (c0 & _LOW) * _M0, (c2 & _LOW) * _M1
                    c0 = (p1 >> _HALF) ^ c1 ^ k0
                    c2 = (p0 >> _HALF) ^ c3 ^ k1
                    c1, c3 = p1, p0
                    k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
                lane0[lane], lane1[lane], lane2[lane], lane3[lane] = c0, c1, c2, c3
            some = words[4 * start : 4 * (start + _LANES)]
            for lane in range(np.uint32(len(some) // 4)):
                some[_4 * lane] = np.uint32(lane0[lane])
                some[_4 * lane + _1] = np.uint32(lane1[lane])
                some[_4 * lane + _2] = np.uint32(lane2[lane])
                some[_4 * lane + _3] = np.uint32(lane3[lane])


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
    """Cubic pieces of the normal quantile, see rng.normal_segments; words and out are flat.

    All but the look-up of a piece is vector code, as in table_noise.
    """
    pieces, places = np.empty(_LANES, np.uint64), np.empty(_LANES)
    c0, c1, c2, c3 = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    for start in range(0, words.size, _LANES):
        some, goal = words[start : start + _LANES], out[start : start + _LANES]
        for i in range(len(some)):
            folded = np.uint32(~some[i]) if some[i] >> _31 else some[i]
            bits = np.float64(np.int64(folded) * 2 + 1).view(np.int64)
            pieces[i] = (bits >> _MANTISSA_SHIFT) - _SEGMENT_BIAS
            places[i] = np.float64(bits & _MANTISSA_MASK) * _MANTISSA_UNIT
        for i in range(len(some)):
            piece = segments[pieces[i]]
            c0[i], c1[i], c2[i], c3[i] = piece[0], piece[1], piece[2], piece[3]
        for i in range(len(some)):
            t = places[i]
            z = c0[i] + t * (c1[i] + t * (c2[i] + t * c3[i]))
            goal[i] = z if some[i] >> _31 else -z


@kernel
def table_noise(images, words, table, out):
    """Walker's alias look-up per value; all arrays flat, table (256 * 256,).

    An entry is a share of 24 bits and the alias. What is looked up goes through a buffer: the
    comparisons are vector code then. The table is read once in order before: reads here and there
    would bring it into the cache more slowly, and other work has often pushed it out.
    """
    entries = np.empty(_LANES, np.uint32)
    for start in range(0, table.size, _LANES):
        for i in range(0, _LANES, _LINE):
            entries[i] = table[start + i]
    for start in range(0, images.size, _LANES):
        levels, some = images[start : start + _LANES], words[start : start + _LANES]
        goal = out[start : start + _LANES]
        for i in range(len(levels)):
            entries[i] = table[np.uint32(levels[i]) << _8 | some[i] >> _24]
        for i in range(len(levels)):
            # The share is the greater one if and only if it is so with these low bits beside it.
            keep = np.uint32(some[i] << _8 | _LOW_8) < entries[i]
            goal[i] = np.uint8(some[i] >> _24 if keep else entries[i])
