#include "server/json_answers.h"

#include <nlohmann/json.hpp>

namespace augur {

std::string error_body(int status, std::string_view message, std::string_view field) {
  using nlohmann::ordered_json;
  const char* const type = status == 401   ? "authentication_error"
                           : status == 404 ? "not_found_error"
                           : status == 429 ? "rate_limit_error"
                           : status < 500  ? "invalid_request_error"
                                           : "server_error";
  const ordered_json body = {{"error",
                              {{"message", message},
                               {"type", type},
                               {"param", field.empty() ? ordered_json() : ordered_json(field)},
                               {"code", status}}}};
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace augur
