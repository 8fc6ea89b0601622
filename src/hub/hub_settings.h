#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace augur {

/// Where models come from and where they are kept. What is no default is what huggingface_hub's tools take,
/// too.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at the end
  std::string token;                                ///< empty: none
  std::filesystem::path cache;                      ///< the hub's own layout: hub_cache.h
  bool offline = false;                             ///< nothing is asked, what the cache has is used

  /// File of the certificates of authorities by which a hub is known; empty: libcurl's own place.
  std::string authorities;

  double connect_seconds = 10;
  double stall_seconds = 30;  ///< without a byte: the connection is given up
  int attempts = 6;           ///< of a request, and of a file since its last mebibyte
  double wait_seconds = 1;    ///< before the second attempt; twice as long before each further one
};

/// A variable's value; null: it is not set.
using Environment = std::function<const char*(const char* name)>;

/// HF_ENDPOINT, HF_TOKEN (or HUGGING_FACE_HUB_TOKEN, or the file HF_TOKEN_PATH, where `hf auth login` leaves
/// one, unless HF_HUB_DISABLE_IMPLICIT_TOKEN), HF_HUB_CACHE (or HUGGINGFACE_HUB_CACHE, HF_HOME,
/// XDG_CACHE_HOME,
/// ~/.cache), HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE), SSL_CERT_FILE (or CURL_CA_BUNDLE; where Linuxes have
/// theirs otherwise). Error naming the variable for a value that cannot be used.
HubSettings hub_settings(const Environment& environment);

/// Error, naming `source`, for a token that is no printable word.
void check_token(const std::string& token, const char* source);

}  // namespace augur
