#include "cli/door_flags.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>

#include "cli/tell.h"
#include "cli/validators.h"
#include "server/http/connections.h"

namespace augur::cli {
namespace {

/// Whoever looks at a server's health and metrics is few and quick.
constexpr std::int64_t kOperators = 32;
constexpr std::int64_t kOperatorsMs = 10'000;

/// Descriptors for all but clients: files, logs, the listener of those who operate the server.
constexpr std::int64_t kOtherDescriptors = 128;

/// A number of base `base`; none: it is no such number, or larger than `most`.
std::optional<unsigned> number(std::string_view text, int base, unsigned most) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > most)
    return std::nullopt;
  return value;
}

/// "127.0.0.1:9090", "[::1]:9090", "localhost:9090", "/path/NAME.sock"; none: it is nothing like that.
std::optional<HttpOptions> door_at(const std::string& text) {
  HttpOptions door;
  door.limits.connections = door.limits.address_connections = kOperators;
  door.limits.client_ms = kOperatorsMs;
  if (HttpServer::is_socket(text)) {
    door.host = text;
    return door;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::optional<unsigned> port = number(std::string_view(text).substr(colon + 1), 10, 65535);
  if (!port) return std::nullopt;
  door.port = static_cast<std::uint16_t>(*port);
  door.host = text.substr(0, colon);
  if (door.host.front() == '[' && door.host.back() == ']')
    door.host = door.host.substr(1, door.host.size() - 2);
  return door;
}

}  // namespace

void add_door_flags(CLI::App& command, HttpOptions& http, std::optional<HttpOptions>& admin) {
  command
      .add_option("--host", http.host, "Address to listen at, localhost, or a UNIX socket (/path/NAME.sock)")
      ->capture_default_str();
  command.add_option("--port", http.port, "Port; 0: any that is free")
      ->check(in_range(0, 65535))
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--socket-mode", [&http](const std::string& mode) { http.socket_mode = number(mode, 8, 0777); },
          "Permissions of the UNIX socket, 0660 say: clients have to be able to write to it")
      ->check(CLI::Validator(
          [](const std::string& mode) {
            return number(mode, 8, 0777) ? std::string()
                                         : fmt::format("'{}' is no octal number from 0 to 0777", mode);
          },
          ""))
      ->type_name("MODE");
  command.add_option("--socket-group", http.socket_group, "Group of the UNIX socket: the proxy's, say")
      ->type_name("GROUP");
  command
      .add_option_function<std::string>(
          "--admin-listen", [&admin](const std::string& at) { admin = door_at(at); },
          "ADDRESS:PORT or a UNIX socket where /health, /metrics, /load and /slots answer, too, without a "
          "key "
          "and whatever clients do")
      ->check(CLI::Validator(
          [](const std::string& at) {
            return door_at(at) ? std::string()
                               : fmt::format("'{}' is no ADDRESS:PORT, nor a /path/NAME.sock", at);
          },
          ""))
      ->type_name("ADDRESS:PORT");
}

std::string address_of(const HttpOptions& http, std::uint16_t port) {
  if (HttpServer::is_socket(http.host)) return "unix:" + http.host;
  const bool v6 = http.host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}", v6 ? "[" + http.host + "]" : http.host, port);
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost" || HttpServer::is_socket(host);
}

void fit_descriptors(Limits& limits) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  if (descriptors.rlim_cur < descriptors.rlim_max) {
    rlimit raised = descriptors;
    raised.rlim_cur = raised.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) descriptors = raised;
  }
  if (descriptors.rlim_cur == RLIM_INFINITY) return;
  const auto all = static_cast<std::int64_t>(descriptors.rlim_cur);
  const std::int64_t fit = std::max<std::int64_t>(1, all - kOtherDescriptors - Connections::kMostRefused);
  if (fit >= limits.connections) return;
  tell(
      "augur: warning: {} clients may be connected, not {} (--max-connections): this process may have "
      "{} files open (ulimit -n, LimitNOFILE=)\n",
      fit, limits.connections, all);
  limits.connections = fit;
}

}  // namespace augur::cli
