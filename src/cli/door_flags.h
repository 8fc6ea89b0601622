#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "server/http/http_server.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// --host, --port, --socket-mode, --socket-group, --admin-listen: where a server listens, for clients and for
/// those who operate it.
void add_door_flags(CLI::App& command, HttpOptions& http, std::optional<HttpOptions>& admin);

/// As clients are told: "http://127.0.0.1:8080", "unix:/run/augur.sock". `port`: that was chosen.
std::string address_of(const HttpOptions& http, std::uint16_t port);

/// Whether only this machine leads there.
bool is_loopback(const std::string& host);

/// Raises the number of files and clients that this process may have open to what the system allows
/// (setrlimit, RLIMIT_NOFILE), and lowers Limits::connections to what fits, with a warning on standard error.
void fit_descriptors(Limits& limits);

}  // namespace augur::cli
