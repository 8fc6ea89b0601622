#include "files/torch/pickle_opcodes.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace augur {

std::string pickle_opcode_name(unsigned char opcode) {
  // clang-format off
  static constexpr std::pair<unsigned char, std::string_view> kNames[] = {
      {'0', "POP"}, {'1', "POP_MARK"}, {'2', "DUP"}, {'F', "FLOAT"}, {'I', "INT"}, {'L', "LONG"},
      {'P', "PERSID"}, {'S', "STRING"}, {'T', "BINSTRING"}, {'U', "SHORT_BINSTRING"}, {'V', "UNICODE"},
      {'d', "DICT"}, {'g', "GET"}, {'i', "INST"}, {'l', "LIST"}, {'o', "OBJ"}, {'p', "PUT"},
      {'B', "BINBYTES"}, {'C', "SHORT_BINBYTES"}, {0x81, "NEWOBJ"}, {0x82, "EXT1"}, {0x83, "EXT2"},
      {0x84, "EXT4"}, {0x8e, "BINBYTES8"}, {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"}, {0x91, "FROZENSET"},
      {0x92, "NEWOBJ_EX"}, {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};
  // clang-format on
  for (const auto& [code, name] : kNames)
    if (code == opcode) return std::string(name);
  return fmt::format("0x{:02x}", opcode);
}

}  // namespace augur
