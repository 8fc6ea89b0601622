#pragma once
#include <memory>
#include <string>

#include "server/service.h"

namespace augur {

/// What a listener of its own answers for those who operate the server: whether it lives, and what it counts,
/// of all clients and without a key. Nothing else is there. Beside the listener of the clients, whose crowd
/// cannot keep it from answering.
class AdminDoor final : public HttpApplication {
 public:
  /// `service` outlives it.
  explicit AdminDoor(Service& service) : service_(service) {}

  void admit(const HttpRequest& head) override;
  void answer_request(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override;
  void refuse(const HttpRequest& head, const Problem& problem,
              std::shared_ptr<HttpExchange> exchange) override;
  std::string counted_as(const std::string&) const override { return {}; }
  void report(std::string_view trouble) override;

 private:
  Service& service_;
};

}  // namespace augur
