#!/usr/bin/env python3
"""Writes gguf_types.gguf and gguf_types.f32: the reference for reading GGUF files.

    pip install gguf numpy && python3 make_gguf_golden.py

The GGUF file has a tensor of every element type that is read, of random blocks, and metadata of every type. The .f32
file holds what gguf.quants.dequantize() makes of the tensors, one after the other, in the file's order.
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGUFValueType as V

HERE = pathlib.Path(__file__).parent
ROWS, COLUMNS = 2, 256
# Offsets of the half-precision scales in a block. IQ1_M's has no place of its own.
SCALES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
    T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.MXFP4: [], T.NVFP4: [], T.IQ4_NL: [0], T.IQ4_XS: [0], T.IQ3_S: [0],
    T.IQ3_XXS: [0], T.IQ2_S: [0], T.IQ2_XS: [0], T.IQ2_XXS: [0], T.IQ1_M: [], T.IQ1_S: [0], T.TQ1_0: [52], T.TQ2_0: [64],
}


def random_halves(rng, shape):
    """Finite ones of all sizes, subnormal and negative ones included."""
    bits = rng.integers(0, 1 << 16, shape, dtype=np.uint16)
    return np.where((bits & 0x7C00) == 0x7C00, bits & 0x83FF, bits).astype(np.uint16)


def random_rows(rng, kind):
    elements, size = gguf.constants.GGML_QUANT_SIZES[kind]
    if kind == T.F32:
        return rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    if kind == T.F16:
        return random_halves(rng, (ROWS, COLUMNS)).view(np.float16)
    if kind == T.BF16:
        return (rng.standard_normal((ROWS, COLUMNS)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    blocks = rng.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=np.uint8)
    for offset in SCALES[kind]:
        blocks[..., offset:offset + 2] = random_halves(rng, blocks.shape[:2])[..., None].view(np.uint8)
    if kind == T.MXFP4:
        blocks[..., 0] = rng.integers(0, 230, blocks.shape[:2])
        blocks[0, 0, 0] = 0
    if kind == T.IQ1_M:  # four bits of the half in each of four words
        half = random_halves(rng, blocks.shape[:2])
        for word in range(4):
            upper = blocks[..., 49 + 2 * word]
            upper[...] = (upper & 15) | (half >> (4 * word) & 15).astype(np.uint8) << 4
    return blocks.reshape(ROWS, -1)


def main():
    rng = np.random.default_rng(20240229)
    writer = gguf.GGUFWriter(HERE / "gguf_types.gguf", "golden")
    for value_type, value in [
        (V.UINT8, 200), (V.INT8, -100), (V.UINT16, 60000), (V.INT16, -30000), (V.UINT32, 4000000000),
        (V.INT32, -2000000000), (V.FLOAT32, 1e-5), (V.BOOL, True), (V.STRING, "grüße"), (V.UINT64, 1 << 60),
        (V.INT64, -(1 << 60)), (V.FLOAT64, 0.1),
    ]:
        writer.add_key_value(f"test.{value_type.name.lower()}", value, value_type)
    writer.add_array("test.strings", ["one", "", "drei"])
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_array("test.floats", [0.5, -1.5])
    expected = []
    for kind in [T.F32, T.F16, T.BF16, *SCALES]:
        rows = random_rows(rng, kind)
        writer.add_tensor(kind.name, rows, raw_dtype=kind)
        expected.append(gguf.quants.dequantize(rows, kind).astype(np.float32).ravel())
        assert expected[-1].size == ROWS * COLUMNS and np.isfinite(expected[-1]).all()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.concatenate(expected).tofile(HERE / "gguf_types.f32")


if __name__ == "__main__":
    main()
