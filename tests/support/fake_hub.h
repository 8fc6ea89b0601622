#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hub/content_hash.h"
#include "support/eventually.h"

namespace augur::testing_support {

/// A model hub on this machine, of one repository, `owner/name`, that answers as it should or as it is told
/// to. Of HTTP it knows what is needed here: GET, one request a connection, ranges from a first byte to the
/// end.
class FakeHub {
 public:
  struct Request {
    std::string path;  ///< with the query
    std::string head;
    std::uint64_t from = 0;

    /// A header's value; empty: it is not there.
    std::string header(const std::string& name) const {
      const auto at = head.find("\r\n" + name + ": ");
      if (at == std::string::npos) return {};
      const auto begin = at + name.size() + 4;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  };

  struct Answer {
    int status = 200;
    std::vector<std::string> headers = {};
    std::string body = {};
    bool says_length = true;
    std::size_t most = std::string::npos;  ///< bytes of the body, then the connection ends
    bool held = false;                     ///< the second half of the body waits for release()
  };

  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";
  static constexpr const char* kRepository = "owner/name";

  FakeHub() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket_, 64), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }
  ~FakeHub() {
    release();
    thread_.request_stop();
    thread_.join();
    connections_.clear();
    ::close(socket_);
  }
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// A file of the repository; `large`: one of those that git has only a pointer of.
  void add(const std::string& path, const std::string& content, bool large = true) {
    const std::lock_guard lock(mutex_);
    files_[path] = content;
    nlohmann::json entry = {{"rfilename", path}, {"size", content.size()}, {"blobId", hash_of(content, 40)}};
    if (large) {
      entry["lfs"] = {{"sha256", hash_of(content, 64)}, {"size", content.size()}, {"pointerSize", 134}};
    }
    entries_[path] = entry;
  }
  /// What the list says of a file.
  nlohmann::json& entry(const std::string& path) { return entries_[path]; }
  static std::string hash_of(const std::string& content, std::size_t digits) {
    ContentHash hash(std::string(digits, '0'), content.size());
    hash.add(std::as_bytes(std::span(content)));
    return hash.hex();
  }
  std::string large_hash(const std::string& path) { return hash_of(files_.at(path), 64); }

  /// What is held is sent, from now on.
  void release() {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
    }
    changed_.notify_all();
  }

  using Handler = std::function<std::optional<Answer>(const Request&, const Answer& usual)>;
  /// Asked before what would be answered is sent.
  void answer_by(Handler handler) {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// Requests for contents.
  std::size_t downloads() const {
    const auto all = requests();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Request& r) {
      return r.path.find("/resolve/") != std::string::npos;
    }));
  }

 private:
  void accept_all(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0) connections_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && ::recv(connection, &byte, 1, 0) == 1) head += byte;
    Request request{.path = {}, .head = head};
    if (const auto begin = head.find(' '); begin != std::string::npos) {
      request.path = head.substr(begin + 1, head.find(' ', begin + 1) - begin - 1);
    }
    if (const std::string range = request.header("Range"); range.starts_with("bytes=")) {
      std::from_chars(range.data() + 6, range.data() + range.size(), request.from);
    }
    Handler handler;
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      answer = usual(request);
      handler = handler_;
    }
    if (handler) {
      if (auto other = handler(request, answer)) answer = *other;
    }
    send(connection, answer);
    ::shutdown(connection, SHUT_WR);
    ::close(connection);
  }

  Answer usual(const Request& request) const {
    if (request.path == std::string("/api/models/") + kRepository + "/revision/main?blobs=true") {
      nlohmann::json list = {{"id", kRepository}, {"sha", kCommit}, {"siblings", nlohmann::json::array()}};
      for (const auto& [path, entry] : entries_) list["siblings"].push_back(entry);
      return {.body = list.dump()};
    }
    const std::string prefix = std::string("/") + kRepository + "/resolve/" + kCommit + "/";
    const auto file =
        request.path.starts_with(prefix) ? files_.find(request.path.substr(prefix.size())) : files_.end();
    if (file == files_.end()) return {.status = 404, .headers = {"X-Error-Code: EntryNotFound"}};
    const std::string& content = file->second;
    if (request.header("Range").empty()) return {.body = content};
    if (request.from >= content.size()) return {.status = 416};
    return {.status = 206,
            .headers = {"Content-Range: bytes " + std::to_string(request.from) + "-" +
                        std::to_string(content.size() - 1) + "/" + std::to_string(content.size())},
            .body = content.substr(request.from)};
  }

  void send(int connection, const Answer& answer) {
    std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " So\r\nConnection: close\r\n";
    if (answer.says_length) head += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
    for (const std::string& header : answer.headers) head += header + "\r\n";
    const std::string body = answer.body.substr(0, answer.most);
    const std::size_t half = body.size() / 2;
    if (!send_all(connection, head + "\r\n" + body.substr(0, half))) return;
    if (answer.held) {
      std::unique_lock lock(mutex_);
      wait_until(changed_, lock, [&] { return released_; });
    }
    send_all(connection, std::string_view(body).substr(half));
  }

  static bool send_all(int connection, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  int socket_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
  std::map<std::string, std::string> files_;
  std::map<std::string, nlohmann::json> entries_;
  Handler handler_;
  std::vector<Request> requests_;
  std::list<std::jthread> connections_;
  std::jthread thread_;
};

}  // namespace augur::testing_support
