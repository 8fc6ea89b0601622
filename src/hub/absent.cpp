// Where libcurl and OpenSSL are not built in.
#ifdef AUGUR_NO_HUB
#include "base/error.h"
#include "hub/content_hash.h"
#include "hub/http_client.h"

namespace augur {

namespace {
[[noreturn]] void absent() {
  throw HubUnreachable("this program cannot fetch models: it was built with -DAUGUR_HUB=OFF");
}
}  // namespace

struct HttpClient::Connection {};
HttpClient::HttpClient(const Patience&, const std::atomic<bool>*) {
  absent();
}
HttpClient::~HttpClient() = default;
HttpHead HttpClient::get(const HttpRequest&, const OnHead&, const OnBytes&) {
  absent();
}

struct ContentHash::State {};
ContentHash::ContentHash(std::string_view, std::uint64_t) {
  absent();
}
ContentHash::~ContentHash() = default;
void ContentHash::add(std::span<const std::byte>) {
  absent();
}
std::string ContentHash::hex() {
  absent();
}

}  // namespace augur
#endif
