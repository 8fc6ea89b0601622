#include "lab/schemas/reach.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/schema/decimals.h"

namespace augur {
namespace {

using Json = nlohmann::ordered_json;
using Then = std::function<bool()>;

/// Depth first: each way to write the next piece is followed by all that comes behind it, and taken back.
class Search {
 public:
  explicit Search(TokenConstraint& constraint) : constraint_(constraint) {}

  bool value(const Json& value, const Then& then) {
    if (value.is_array()) return text("[", [&] { return items(value, 0, then); });
    if (value.is_object()) {
      std::vector<bool> written(value.size(), false);
      return text("{", [&] { return members(value, written, 0, then); });
    }
    if (value.is_number()) {
      const std::string plain = text_of(decimal_of(value)), usual = value.dump();
      return text(plain, then) || (usual != plain && text(usual, then));
    }
    return text(value.dump(), then);
  }
  bool exhausted() const { return steps_ <= 0; }

 private:
  bool text(std::string_view bytes, const Then& then) {
    int accepted = 0;
    for (const char byte : bytes) {
      if (--steps_ <= 0 || !constraint_.accept(static_cast<unsigned char>(byte))) break;
      ++accepted;
    }
    if (accepted == static_cast<int>(bytes.size()) && then()) return true;
    if (accepted > 0) constraint_.roll_back(accepted);
    return false;
  }

  bool items(const Json& list, std::size_t at, const Then& then) {
    if (at == list.size()) return text("]", then);
    return text(at > 0 ? "," : "",
                [&] { return value(list[at], [&] { return items(list, at + 1, then); }); });
  }

  bool members(const Json& object, std::vector<bool>& written, std::size_t count, const Then& then) {
    if (count == object.size()) return text("}", then);
    std::size_t at = 0;
    for (const auto& [name, member] : object.items()) {
      const std::size_t mine = at++;
      if (written[mine]) continue;
      written[mine] = true;
      const Json& its_value = member;
      const bool reached = text((count > 0 ? "," : "") + Json(name).dump() + ":", [&] {
        return value(its_value, [&] { return members(object, written, count + 1, then); });
      });
      written[mine] = false;
      if (reached) return true;
    }
    return false;
  }

  TokenConstraint& constraint_;
  long steps_ = 30000;
};

}  // namespace

Reach reach(TokenConstraint& constraint, TokenId end, const Json& value) {
  Search search(constraint);
  const bool reached = search.value(value, [&] {
    if (!constraint.accept(end)) return false;
    constraint.roll_back(1);
    return true;
  });
  if (reached) return Reach::Yes;
  return search.exhausted() ? Reach::TooLong : Reach::No;
}

}  // namespace augur
