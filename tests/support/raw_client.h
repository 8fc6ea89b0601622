#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "support/eventually.h"

namespace augur::testing_support {

/// A connection of which every byte is ours.
class RawClient {
 public:
  /// `from`: its address, any of 127.0.0.0/8; null: the usual one.
  explicit RawClient(std::uint16_t port, const char* from = nullptr)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from != nullptr) {
      EXPECT_EQ(::inet_pton(AF_INET, from, &address.sin_addr), 1);
      EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval for_ever{.tv_sec = std::chrono::seconds(kForEver).count(), .tv_usec = 0};
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever)), 0);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  /// As much of it as the server takes before it closes.
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Until the server closes.
  std::string read_all() {
    std::string all;
    while (read_more(all)) {
    }
    return all;
  }
  /// Until `text` has come, or the server closes.
  std::string read_until(std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos && read_more(all)) {
    }
    return all;
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  bool read_more(std::string& to) {
    char buffer[4096];
    const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
    EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "the server says nothing";
    if (got > 0) to.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  int socket_;
};

}  // namespace augur::testing_support
