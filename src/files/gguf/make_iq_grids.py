#!/usr/bin/env python3
"""Writes src/files/gguf/iq_grids.h: the grids of GGUF's IQ1, IQ2 and IQ3 types, out of the `gguf` Python package.

    pip install gguf numpy && python3 src/files/gguf/make_iq_grids.py
"""
import pathlib

from gguf import quants

OUT = pathlib.Path(__file__).resolve().parent / "iq_grids.h"
GRIDS = [("kIq2XxsGrid", quants.IQ2_XXS, 2), ("kIq2XsGrid", quants.IQ2_XS, 2), ("kIq2SGrid", quants.IQ2_S, 2),
         ("kIq3XxsGrid", quants.IQ3_XXS, 3), ("kIq3SGrid", quants.IQ3_S, 3), ("kIq1Grid", quants.IQ1_S, 2)]
HEAD = """#pragma once
// Written by src/files/gguf/make_iq_grids.py out of gguf/quants.py of the `gguf` Python package, whose grids
// are those of ggml-common.h: facts of the file format. Both are part of llama.cpp, under the MIT licence,
// copyright (c) 2023-2024 The ggml authors.
#include <cstdint>

namespace augur {

/// Entries are 8 values of 2 bits or 4 of 3 bits, the first lowest; what these stand for: iq_blocks.cpp.
// clang-format off
"""
TAIL = """// clang-format on

}  // namespace augur
"""


def entries(kind, bits):
    kind.init_grid()
    rows = kind.grid.reshape(kind.grid_shape)
    places = {value: place for place, value in enumerate(kind.grid_map)}
    return [sum(places[value] << (bits * i) for i, value in enumerate(row)) for row in rows]


def main():
    text = HEAD
    for name, kind, bits in GRIDS:
        words = [f"0x{entry:04x}" for entry in entries(kind, bits)]
        text += f"inline constexpr std::uint16_t {name}[{len(words)}] = {{\n"
        for i in range(0, len(words), 14):
            text += "    " + ", ".join(words[i:i + 14]) + ",\n"
        text += "};\n"
    OUT.write_text(text + TAIL)


if __name__ == "__main__":
    main()
