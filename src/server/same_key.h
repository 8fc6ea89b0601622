#pragma once
#include <cstddef>

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

/// Whether it is one of the keys. Compares it with all of them.
template <class Sent, class Keys>
bool is_one_of_keys(const Sent& sent, const Keys& keys) {
  bool found = false;
  for (const auto& key : keys) found |= is_same_key(sent, key);
  return found;
}

}  // namespace augur
