#pragma once
#include <memory>
#include <string>

#include "server/service.h"

namespace augur {

/// Answers of the operators' listener (--admin-listen): health and counts, over all clients and without a
/// key, and nothing else. It is separate from the clients' listener, so that it answers however many clients
/// there are.
class AdminDoor final : public HttpApplication {
 public:
  /// `service` must outlive it.
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
