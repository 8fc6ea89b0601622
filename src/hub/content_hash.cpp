#ifndef AUGUR_NO_HUB
#include "hub/content_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/error.h"
#include "hub/hexadecimal.h"

namespace augur {

struct ContentHash::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

ContentHash::ContentHash(std::string_view like, std::uint64_t bytes) : state_(std::make_unique<State>()) {
  const bool git = like.size() == kGitHashDigits;
  if (state_->context == nullptr) throw std::bad_alloc();
  if (EVP_DigestInit_ex(state_->context.get(), git ? EVP_sha1() : EVP_sha256(), nullptr) != 1) {
    throw Error("libcrypto refuses {}", git ? "SHA-1" : "SHA-256");
  }
  if (!git) return;
  const std::string header = fmt::format("blob {}", bytes);
  add(std::as_bytes(std::span(header.c_str(), header.size() + 1)));  // and a zero byte
}

ContentHash::~ContentHash() = default;

void ContentHash::add(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string ContentHash::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned count = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), digest.data(), &count) != 1) throw std::bad_alloc();
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace augur
#endif
