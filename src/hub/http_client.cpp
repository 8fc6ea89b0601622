#ifndef AUGUR_NO_HUB
#include "hub/http_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "hub/curl_library.h"

namespace augur {

namespace {

constexpr long kMostRedirects = 8;
constexpr std::size_t kMostErrorText = 300;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  return text;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The value of a header of this name; empty for another header.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  const bool same = std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
    return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
  });
  if (!same) return std::nullopt;
  return trimmed(line.substr(name.size() + 1));
}

/// What a server says goes to a terminal.
std::string printable(std::string_view text) {
  std::string result(text.substr(0, kMostErrorText));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c >= 0x7f; }, '?');
  return result;
}

/// "bytes 100-199/1000"
void read_range(std::string_view text, HttpHead& head) {
  constexpr std::string_view kUnit = "bytes ";
  const auto dash = text.find('-');
  const auto slash = text.find('/');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos || slash == std::string_view::npos) return;
  const auto first = number<std::uint64_t>(text.substr(kUnit.size(), dash - kUnit.size()));
  if (!first) return;
  head.first = *first;
  head.total = number<std::uint64_t>(text.substr(slash + 1));
}

void read_header(std::string_view line, HttpHead& head) {
  if (line.starts_with("HTTP/")) {  // of the next answer, where the last one led elsewhere
    head = HttpHead();
  } else if (const auto length = value_of(line, "content-length")) {
    if (!head.total) head.total = number<std::uint64_t>(*length);
  } else if (const auto range = value_of(line, "content-range")) {
    read_range(*range, head);
  } else if (const auto after = value_of(line, "retry-after")) {
    if (const auto seconds = number<std::uint32_t>(*after)) head.retry_after = *seconds;
  } else if (const auto error = value_of(line, "x-error-message")) {
    head.error = printable(*error);
  }
}

/// What the functions that libcurl calls know. They must not throw through it.
struct Answer {
  CURL* curl;
  const HttpClient::OnHead* on_head;
  const HttpClient::OnBytes* on_bytes;
  const std::atomic<bool>* stop;
  double stall_seconds;
  HttpHead head = {};
  bool begun = false;
  bool wanted = true;
  std::exception_ptr thrown = {};
  curl_off_t received = 0;
  Stopwatch since_last_byte{};
  bool stalled = false;

  bool stopped() const { return stop != nullptr && stop->load(); }
  void begin() {
    if (std::exchange(begun, true)) return;
    curl_library().easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &head.status);
    wanted = (*on_head)(head);
  }
};

std::size_t take_header(const char* bytes, std::size_t /*one*/, std::size_t count, void* answer) {
  try {
    read_header(trimmed(std::string_view(bytes, count)), static_cast<Answer*>(answer)->head);
  } catch (...) {
    static_cast<Answer*>(answer)->thrown = std::current_exception();
    return 0;
  }
  return count;
}

std::size_t take_bytes(const char* bytes, std::size_t /*one*/, std::size_t count, void* data) {
  auto& answer = *static_cast<Answer*>(data);
  try {
    answer.begin();
    if (!answer.wanted) return 0;
    (*answer.on_bytes)(std::as_bytes(std::span(bytes, count)));
  } catch (...) {
    answer.thrown = std::current_exception();
    return 0;
  }
  return count;
}

/// Once a second, and as bytes come. libcurl's own limit looks at a mean of the last five seconds.
int look_up(void* data, curl_off_t /*total*/, curl_off_t received, curl_off_t, curl_off_t) {
  auto& answer = *static_cast<Answer*>(data);
  if (received != answer.received) answer.since_last_byte.restart();
  answer.received = received;
  answer.stalled = answer.since_last_byte.ms() > answer.stall_seconds * 1e3;
  return answer.stopped() || answer.stalled ? 1 : 0;
}

bool is_transient(CURLcode code) {
  constexpr std::array kLasting = {
      CURLE_UNSUPPORTED_PROTOCOL,     CURLE_URL_MALFORMAT,      CURLE_TOO_MANY_REDIRECTS,
      CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_ENGINE_INITFAILED,    CURLE_SSL_CERTPROBLEM,    CURLE_OUT_OF_MEMORY};
  return std::find(kLasting.begin(), kLasting.end(), code) == kLasting.end();
}

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  const CurlLibrary& library = curl_library();
  if (const CURLcode code = library.easy_setopt(curl, option, value); code != CURLE_OK) {
    throw Error("libcurl: {}", library.easy_strerror(code));
  }
}

using Headers = std::unique_ptr<curl_slist, decltype(CurlLibrary::slist_free_all)>;

}  // namespace

struct HttpClient::Connection {
  Patience patience;
  const std::atomic<bool>* stop;
  std::unique_ptr<CURL, decltype(CurlLibrary::easy_cleanup)> curl;
};

HttpClient::HttpClient(const Patience& patience, const std::atomic<bool>* stop) {
  const CurlLibrary& library = curl_library();
  connection_ =
      std::make_unique<Connection>(Connection{patience, stop, {library.easy_init(), library.easy_cleanup}});
  if (connection_->curl == nullptr) throw std::bad_alloc();
}

HttpClient::~HttpClient() = default;

HttpHead HttpClient::get(const HttpRequest& request, const OnHead& on_head, const OnBytes& on_bytes) {
  const CurlLibrary& library = curl_library();
  CURL* curl = connection_->curl.get();
  library.easy_reset(curl);  // connections stay
  Answer answer{.curl = curl,
                .on_head = &on_head,
                .on_bytes = &on_bytes,
                .stop = connection_->stop,
                .stall_seconds = connection_->patience.stall_seconds};
  std::array<char, CURL_ERROR_SIZE> reason{};
  set(curl, CURLOPT_ERRORBUFFER, reason.data());
  set(curl, CURLOPT_URL, request.url.c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  // What is asked for in secret is not answered in public.
  set(curl, CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
  if (!connection_->patience.authorities.empty()) {
    set(curl, CURLOPT_CAINFO, connection_->patience.authorities.c_str());
  }
  set(curl, CURLOPT_FOLLOWLOCATION, 1L);
  set(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_USERAGENT, "augur");
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connection_->patience.connect_seconds * 1e3));
  set(curl, CURLOPT_HEADERFUNCTION, take_header);
  set(curl, CURLOPT_HEADERDATA, &answer);
  set(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  set(curl, CURLOPT_WRITEDATA, &answer);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, look_up);
  set(curl, CURLOPT_XFERINFODATA, &answer);
  Headers headers(nullptr, library.slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* more = library.slist_append(headers.get(), line.c_str());
    if (more == nullptr) throw std::bad_alloc();
    static_cast<void>(headers.release());
    headers.reset(more);
  };
  if (!request.token.empty())
    add("Authorization: Bearer " + request.token);  // libcurl keeps it from other hosts
  if (request.from > 0) add(fmt::format("Range: bytes={}-", request.from));
  set(curl, CURLOPT_HTTPHEADER, headers.get());

  const CURLcode code = library.easy_perform(curl);
  if (answer.thrown) std::rethrow_exception(answer.thrown);
  if (answer.stopped()) throw HubStopped("interrupted");
  if (answer.stalled) throw HubUnreachable("{}: no byte came for {} s", request.url, answer.stall_seconds);
  if (code == CURLE_WRITE_ERROR && !answer.wanted) return answer.head;
  if (code != CURLE_OK) {
    const std::string_view what = reason.front() != '\0' ? reason.data() : library.easy_strerror(code);
    if (is_transient(code)) throw HubUnreachable("{}: {}", request.url, what);
    throw Error("{}: {}", request.url, what);
  }
  answer.begin();
  return answer.head;
}

}  // namespace augur
#endif
