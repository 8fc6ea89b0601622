#include "server/admin_door.h"

#include <fmt/format.h>

#include <utility>

#include "server/health.h"

namespace augur {

void AdminDoor::admit(const HttpRequest& head) {
  const bool health = is_open_health(head.path);
  if (!health && !is_measured(head.path)) {
    throw Problem(404, fmt::format("there is no {} at this listener: expected /health, /metrics, /load or "
                                   "/slots",
                                   head.path));
  }
  if (head.method != "GET" && head.method != "HEAD") {
    throw Problem(405, fmt::format("{} takes GET, HEAD", head.path), {}, {{"Allow", "GET, HEAD"}});
  }
  if (!health) service_.admission().check_without_key(head);
}

void AdminDoor::answer_request(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  request.for_operators = true;
  service_.answer_request(std::move(request), std::move(exchange));
}

void AdminDoor::refuse(const HttpRequest& head, const Problem& problem,
                       std::shared_ptr<HttpExchange> exchange) {
  service_.refuse(head, problem, std::move(exchange));
}

void AdminDoor::report(std::string_view trouble) {
  service_.report(trouble);
}

}  // namespace augur
