#pragma once
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "server/http/http_server.h"
#include "server/service.h"
#include "support/eventually.h"
#include "support/temporary_folder.h"

namespace augur::testing_support {

/// A server whose log is a file.
class LoggedServer {
 public:
  explicit LoggedServer(ServiceOptions options = {.model = "stories", .api_keys = {}, .speculation = {}})
      : service_(with_log(std::move(options), file_.string())), server_({.port = 0}, service_) {}
  ~LoggedServer() { service_.drain(); }

  void open(Engine& engine, const SessionOptions& options = {.parallel = 4}) {
    service_.open(engine, options);
  }
  Service& service() { return service_; }
  std::uint16_t port() const { return server_.port(); }
  httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    return httplib::Client("127.0.0.1", port()).Get(path, headers);
  }
  httplib::Result post(const std::string& path, const nlohmann::json& body,
                       const httplib::Headers& headers = {}) const {
    return httplib::Client("127.0.0.1", port()).Post(path, headers, body.dump(), "application/json");
  }

  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }
  int logged(const std::string& part) const {
    const std::string text = log();
    int found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
  }
  /// Whether it is logged so often: a line may come after the answer.
  bool comes_to_log(const std::string& part, int times = 1) const {
    return poll_until([&] { return logged(part) >= times; }) && logged(part) == times;
  }

 private:
  static ServiceOptions with_log(ServiceOptions options, const std::string& file) {
    if (options.log.file.empty()) options.log.file = file;
    return options;
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "log";
  Service service_;
  HttpServer server_;
};

}  // namespace augur::testing_support
