#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "grammar/schema/lowering.h"

namespace augur {
namespace {

constexpr std::size_t kMostUnique = 6;  ///< values of which a set is written in every order
constexpr int kMostCounted = 128;       ///< items that are counted one by one

}  // namespace

PiecePtr Lowering::of_array(const Constraint& constraint) {
  ArrayRules rules = constraint.array;
  for (const Json& value : constraint.excluded) {
    if (!value.is_array()) continue;
    if (!value.empty()) refuse(" excludes an array, which is not enforced");
    rules.length.meet({1, kWithoutEnd});
  }
  if (rules.length.contradictory()) return choice({});
  if (rules.any()) return reference(json_.array_rule);
  if (rules.unique != nullptr && (rules.length.most == kWithoutEnd || rules.length.most > 1)) {
    const Json* const outer = std::exchange(place_, rules.unique);
    const std::vector<Constraint>& items = normaliser_.expand(Normaliser::of_further_items(rules));
    std::vector<Json> values;
    bool finite = Normaliser::prefix_length(rules) == 0 && rules.contains.empty();
    for (const Constraint& one : items) {
      if (one.values) {
        values.insert(values.end(), one.values->begin(), one.values->end());
      } else if ((one.types & ~unsigned{kNull | kBoolean}) == 0 && one.excluded.empty()) {
        if ((one.types & kNull) != 0) values.push_back(nullptr);
        if ((one.types & kTrue) != 0) values.push_back(true);
        if ((one.types & kFalse) != 0) values.push_back(false);
      } else {
        finite = false;
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = values.size() - 1; j > i; --j) {
        if (same_value(values[i], values[j])) values.erase(values.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
    if (!finite || values.size() > kMostUnique) {
      refuse(fmt::format("/uniqueItems is enforced for items of at most {} values", kMostUnique));
    }
    Constraint one;
    one.array = rules;
    PiecePtr piece = unique_items(one, std::move(values));
    place_ = outer;
    return piece;
  }
  const std::size_t prefix = Normaliser::prefix_length(rules);
  if (!rules.contains.empty()) return items_with(rules);
  const PiecePtr further = of(Normaliser::of_further_items(rules));
  const int least = rules.length.least, most = rules.length.most;
  const int already = static_cast<int>(prefix);
  if (already == 0) {
    std::vector<PiecePtr> ways;
    if (most != 0) {
      ways.push_back(
          json_.braced("[",
                       sequence({further, repeat(sequence({json_.comma, further}), std::max(0, least - 1),
                                                 most == kWithoutEnd ? kWithoutEnd : most - 1)}),
                       "]"));
    }
    if (least == 0) ways.push_back(json_.braced("[", nullptr, "]"));
    return choice(std::move(ways));
  }
  // From the last to the first: what may stand behind so many items.
  PiecePtr rest = most != kWithoutEnd && most <= already
                      ? literal("")
                      : repeat(sequence({json_.comma, further}), std::max(0, least - already),
                               most == kWithoutEnd ? kWithoutEnd : most - already);
  for (int i = already; i-- > 0;) {
    const PiecePtr item = of(Normaliser::of_item(rules, i));
    PiecePtr with = sequence({i > 0 ? json_.comma : literal(""), item, rest});
    if (most != kWithoutEnd && i >= most) {
      rest = literal("");
    } else {
      rest = rule_of(i >= least ? choice({literal(""), with}) : with);
    }
  }
  return json_.braced("[", rest, "]");
}

/// Sets of so few values are written in every order.
PiecePtr Lowering::unique_items(const Constraint& constraint, std::vector<Json> values) {
  const Counts& length = constraint.array.length;
  std::vector<int> rules(std::size_t{1} << values.size(), -1);
  const std::function<PiecePtr(unsigned)> behind = [&](unsigned taken) {
    if (rules[taken] >= 0) return reference(rules[taken]);
    const int rule = rules[taken] = text_.add_rule();
    const int count = __builtin_popcount(taken);
    std::vector<PiecePtr> ways;
    if (count >= length.least) ways.push_back(literal(""));
    for (std::size_t i = 0; i < values.size() && (length.most == kWithoutEnd || count < length.most); ++i) {
      if ((taken >> i & 1) != 0) continue;
      ways.push_back(
          sequence({count > 0 ? json_.comma : literal(""), of_value(values[i]), behind(taken | 1u << i)}));
    }
    text_.define(rule, choice(std::move(ways)));
    return reference(rule);
  };
  return json_.braced("[", behind(0), "]");
}

/// Items among which some match: counted by position and by matches so far.
PiecePtr Lowering::items_with(const ArrayRules& rules) {
  if (rules.contains.size() > 1) refuse("/contains is not enforced beside another one");
  const ArrayRules::Contains& contains = rules.contains[0];
  const int prefix = static_cast<int>(Normaliser::prefix_length(rules));
  const bool open = rules.length.most == kWithoutEnd;
  const int last = std::max({prefix, rules.length.least, open ? 0 : rules.length.most});
  const bool most_matches = contains.matches.most != kWithoutEnd;
  const int enough = std::max(contains.matches.least, most_matches ? contains.matches.most : 0);
  if (last > kMostCounted || enough > kMostCounted) {
    refuse(fmt::format("/contains is enforced up to {} items", kMostCounted));
  }
  std::map<std::pair<int, int>, int> cells;
  std::vector<std::pair<int, int>> queue;
  const auto cell = [&](int items, int matches) {
    const std::pair at{std::min(items, last + 1), matches};
    const auto [found, fresh] = cells.try_emplace(at, 0);
    if (fresh) {
      found->second = text_.add_rule();
      queue.push_back(at);
    }
    return reference(found->second);
  };
  const PiecePtr root = cell(0, 0);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto [items, matches] = queue[i];
    std::vector<PiecePtr> ways;
    if (items >= rules.length.least && matches >= contains.matches.least) ways.push_back(literal(""));
    if (open || items < rules.length.most) {
      const PiecePtr separator = items > 0 ? json_.comma : literal("");
      Conjunction plain = Normaliser::of_item(rules, items), matching = plain;
      add(matching, contains.what);
      if (most_matches) add(plain, {contains.what.schema, !contains.what.holds});
      ways.push_back(sequence({separator, of(plain), cell(items + 1, matches)}));
      if (matches < enough) {
        ways.push_back(sequence({separator, of(matching), cell(items + 1, matches + 1)}));
      }
    }
    text_.define(cells[{items, matches}], choice(std::move(ways)));
  }
  return json_.braced("[", root, "]");
}

}  // namespace augur
