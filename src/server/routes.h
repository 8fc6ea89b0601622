#pragma once
#include <string>
#include <string_view>

#include "server/endpoint.h"

namespace augur {

/// The endpoint of a path.
struct Route {
  const Endpoint* endpoint = nullptr;        ///< for the requested method; null: none
  std::string methods;                       ///< methods of the path, "GET, POST"; empty: no such path
  const ErrorForm* errors = &kOpenAiErrors;  ///< error form of the path's API
};

/// HEAD is a GET whose body is not sent.
Route find_route(std::string_view method, std::string_view path);

}  // namespace augur
