#pragma once
#include <string>
#include <string_view>

#include "server/endpoint.h"

namespace augur {

/// What there is at a path.
struct Route {
  const Endpoint* endpoint = nullptr;  ///< for the method that was asked for; null: there is none
  std::string methods;                 ///< that the path takes, "GET, POST"; empty: there is no such path
  const ErrorForm* errors = &kOpenAiErrors;  ///< in which the path's API words problems
};

/// HEAD is a GET whose body is not sent.
Route find_route(std::string_view method, std::string_view path);

}  // namespace augur
