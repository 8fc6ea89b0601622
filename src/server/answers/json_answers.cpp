#include "server/answers/json_answers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "files/big_integers.h"

namespace augur {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& object) {
  return write_exact_json(object);
}

ordered_json bytes_json(std::string_view bytes) {
  ordered_json list = ordered_json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}

std::string random_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

}  // namespace augur
