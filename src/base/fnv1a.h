#pragma once
#include <cstdint>
#include <string_view>

namespace augur {

/// FNV-1a of 64 bits: over bytes, or over whole numbers a value at a time. Not for what an enemy may choose.
/// Own code: one line; std::hash promises nothing from one build to the next, and files keep these.
class Fnv1a {
 public:
  void add(std::uint64_t value) { state_ = (state_ ^ value) * 0x100000001b3u; }
  void add_bytes(std::string_view bytes) {
    for (const char c : bytes) add(static_cast<unsigned char>(c));
  }
  /// The lowest `bytes` of a number, the least significant first.
  void add_little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) add((value >> (8 * i)) & 0xffu);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace augur
