#pragma once
#include <cstddef>
#include <optional>

namespace augur {

// Keys are compared in a time that depends on what was sent alone: whoever tries learns nothing of a key by
// how long a refusal takes. Texts are anything with size() and operator[].

/// Whether both are the same. Reads every byte of `sent`, and as many of `key`, which is not empty.
template <class Sent, class Key>
bool is_same_key(const Sent& sent, const Key& key) {
  std::size_t difference = sent.size() ^ key.size();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    difference |= static_cast<std::size_t>(static_cast<unsigned char>(sent[i] ^ key[i % key.size()]));
  }
  return difference == 0;
}

/// Which of the keys it is; none: nothing. Compares it with all of them.
template <class Sent, class Keys>
std::optional<std::size_t> index_of_key(const Sent& sent, const Keys& keys) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (is_same_key(sent, keys[i])) found = i;
  }
  return found;
}

}  // namespace augur
