#pragma once
#include <string>

#include "server/hostile/catalogue.h"

namespace augur::hostile {

// Of requests that are about their frame: headers without an end, and a body.
inline const std::string kGet = head("GET", "/health");
inline const std::string kPost = head("POST", "/detokenize");
inline const std::string kBody = R"({"tokens": [1]})";  // 15 bytes
inline const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

}  // namespace augur::hostile
