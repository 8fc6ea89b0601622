#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/hostile/catalogue.h"
#include "server/hostile/neighbour.h"
#include "server/http/http_server.h"
#include "server/service.h"
#include "support/raw_client.h"
#include "support/templated_stories.h"
#include "support/temporary_folder.h"

namespace augur::hostile {

/// What a client got.
struct Answer {
  int status = 0;  ///< 0: nothing
  std::string header;
  std::string body;
};

/// A server with saved texts and small limits, a neighbour on it, and what must hold after each case: the
/// server lives, answers /health while the batch stands still, gave a documented answer, kept the neighbour
/// waiting no longer than an ordinary request does, and holds no more than its limits allow.
class HostileTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() { stories_.reset(); }
  explicit HostileTest(const std::vector<std::string>& keys = {});
  ~HostileTest() override;

  static Limits limits();
  /// The answer to `bytes`, sent from an address of its own.
  Answer answer_to(const std::string& bytes);
  int status_of(const std::string& bytes) { return answer_to(bytes).status; }
  /// Sends a case while the batch goes on step by step, and checks what must hold. `by_api`: OpenAPI's
  /// description has to know the answer's status.
  void check(const Case& hostile, bool by_api = true);
  void check_health();
  SessionLoad load() { return service_.session().load(); }
  /// Until nothing but the neighbour is left.
  void wait_until_idle();

  inline static std::unique_ptr<testing_support::TemplatedStories> stories_;
  const testing_support::TemporaryFolder folder_;
  Service service_;
  HttpServer server_;
  std::unique_ptr<Neighbour> neighbour_;

 private:
  void fill_folder();
  Answer send(const Case& hostile);
  void check_answer(const Case& hostile, const Answer& answer, bool by_api);
  void check_accounts();

  std::int64_t ordinary_wait_ = 0;  ///< steps that an ordinary request keeps the neighbour waiting
};

}  // namespace augur::hostile
