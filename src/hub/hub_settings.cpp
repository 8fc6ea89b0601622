#include "hub/hub_settings.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace augur {

namespace {

namespace fs = std::filesystem;

/// Empty for a variable that is not set or empty.
std::string value_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

bool is_true(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

/// With the home folder for "~".
fs::path path_of(const Environment& environment, const char* name) {
  const std::string value = value_of(environment, name);
  const bool home = value == "~" || value.starts_with("~/");
  return home ? fs::path(value_of(environment, "HOME") + value.substr(1)) : fs::path(value);
}

fs::path home_of_hub(const Environment& environment) {
  if (fs::path home = path_of(environment, "HF_HOME"); !home.empty()) return home;
  if (const fs::path cache = path_of(environment, "XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface";
  const std::string home = value_of(environment, "HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface";
}

std::string without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string token_of(const Environment& environment, const fs::path& home) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    std::string token = without_space(value_of(environment, name));
    if (token.empty()) continue;
    check_token(token, name);
    return token;
  }
  if (is_true(value_of(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  fs::path file = path_of(environment, "HF_TOKEN_PATH");
  if (file.empty() && !home.empty()) file = home / "token";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  std::string token = without_space(line);
  if (!token.empty()) check_token(token, file.c_str());
  return token;
}

std::string endpoint_of(const Environment& environment, std::string usual) {
  std::string endpoint = without_space(value_of(environment, "HF_ENDPOINT"));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) return usual;
  const auto scheme = endpoint.find("://");
  const bool known = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool printable =
      std::all_of(endpoint.begin(), endpoint.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!known || !printable || scheme + 3 == endpoint.size()) {
    throw Error("HF_ENDPOINT: {:?} is no address of a hub: expected one like https://huggingface.co",
                endpoint);
  }
  return endpoint;
}

/// libcurl knows one place, that of the Linux it was built for; a release runs on others, too.
std::string authorities_of(const Environment& environment) {
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    if (std::string file = value_of(environment, name); !file.empty()) return file;
  }
  std::error_code ignored;
  for (const char* usual : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                            "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (fs::exists(usual, ignored)) return usual;
  }
  return {};
}

}  // namespace

void check_token(const std::string& token, const char* source) {
  constexpr std::size_t kLongest = 4096;
  const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || token.size() > kLongest || !printable) {
    throw Error("{}: expected a token, one word of printable characters", source);
  }
}

HubSettings hub_settings(const Environment& environment) {
  HubSettings settings;
  const fs::path home = home_of_hub(environment);
  settings.endpoint = endpoint_of(environment, settings.endpoint);
  settings.token = token_of(environment, home);
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (settings.cache.empty()) settings.cache = path_of(environment, name);
  }
  if (settings.cache.empty() && !home.empty()) settings.cache = home / "hub";
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (const std::string value = value_of(environment, name); !value.empty()) {
      settings.offline = is_true(value);
      break;
    }
  }
  settings.authorities = authorities_of(environment);
  return settings;
}

}  // namespace augur
