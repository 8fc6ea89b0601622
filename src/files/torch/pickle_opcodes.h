#pragma once
#include <string>

namespace augur {

/// The opcodes that are understood, under Python's names (Lib/pickle.py).
namespace pickle_op {
// clang-format off
enum : unsigned char {
  MARK = '(', STOP = '.', NONE = 'N', NEWTRUE = 0x88, NEWFALSE = 0x89,
  BININT = 'J', BININT1 = 'K', BININT2 = 'M', LONG1 = 0x8a, LONG4 = 0x8b, BINFLOAT = 'G',
  BINUNICODE = 'X', SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d,
  EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e', EMPTY_DICT = '}', SETITEM = 's', SETITEMS = 'u',
  EMPTY_TUPLE = ')', TUPLE = 't', TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87,
  BINGET = 'h', LONG_BINGET = 'j', BINPUT = 'q', LONG_BINPUT = 'r', MEMOIZE = 0x94,
  GLOBAL = 'c', STACK_GLOBAL = 0x93, REDUCE = 'R', BUILD = 'b', BINPERSID = 'Q',
  PROTO = 0x80, FRAME = 0x95,
};
// clang-format on
}  // namespace pickle_op

/// Python's name of an opcode that is refused, or its number.
std::string pickle_opcode_name(unsigned char opcode);

}  // namespace augur
