#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_server.h"
#include "server/service.h"
#include "support/raw_client.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur::hostile {

/// Bytes that a client sends, and the statuses that a documented answer may have. 0: the connection just
/// ends.
struct Case {
  std::string name;
  std::string bytes;
  std::vector<int> statuses;
};

/// "HEADER FIELDS\r\n\r\nBODY" of a POST, with Host, and with Content-Length where `fields` say nothing of
/// it.
std::string post(std::string_view path, std::string_view body, std::string_view fields = {});

/// A server with saved texts and small limits. What must hold is checked after each case: the server lives,
/// answers /health, and gave a documented answer.
class HostileTest : public testing_support::StoriesEngineTest {
 protected:
  HostileTest() { service_.open(*engine_, {.parallel = 2, .queue = 8}); }
  ~HostileTest() override { service_.drain(); }

  static Limits limits();
  /// The status of the answer to `bytes`; 0: there is none.
  int status_of(const std::string& bytes);
  /// Sends a case, and checks what must hold.
  void check(const Case& hostile);
  void check_health();

  const testing_support::TemporaryFolder folder_;
  Service service_{{.model = "stories",
                    .api_keys = {},
                    .speculation = {},
                    .log = {.requests = false},
                    .slot_save_path = folder_.path().string(),
                    .limits = limits()}};
  HttpServer server_{{.port = 0, .limits = limits()}, service_};
};

}  // namespace augur::hostile
