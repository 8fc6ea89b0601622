#include <algorithm>
#include <functional>

#include "grammar/schema/lowering.h"

namespace augur {
namespace {

constexpr std::size_t kMostCells = 20000;  ///< of counted members

}  // namespace

PiecePtr Lowering::of_object(const Constraint& constraint) {
  ObjectRules rules = constraint.object;
  for (const Json& value : constraint.excluded) {
    if (!value.is_object()) continue;
    if (!value.empty()) refuse(" excludes an object, which is not enforced");
    rules.count.meet({1, kWithoutEnd});
  }
  return of_rules(std::move(rules));
}

PiecePtr Lowering::of_rules(ObjectRules rules) {
  if (rules.count.contradictory()) return choice({});
  if (rules.any()) return reference(json_.object_rule);
  if (rules.others.empty()) return members(rules, nullptr);
  if (rules.others.size() > 1) refuse("/additionalProperties is not enforced under not beside another one");
  const ObjectRules::Other other = rules.others[0];
  rules.others.clear();
  std::vector<PiecePtr> ways;
  for (const std::string& name : known_names(rules)) {
    if (std::find(other.than.begin(), other.than.end(), name) != other.than.end()) continue;
    ObjectRules with = rules;
    if (std::find(with.required.begin(), with.required.end(), name) == with.required.end())
      with.required.push_back(name);
    with.layers.push_back({{{name, other.holds}}, {}, std::nullopt});
    ways.push_back(members(with, nullptr));
  }
  // The names that it speaks of have to be known, or they could be the other one.
  ObjectRules::Layer named;
  for (const std::string& name : other.than) named.named.push_back({name, {&kAnySchema, true}});
  rules.layers.push_back(std::move(named));
  const Conjunction more = {other.holds};
  ways.push_back(members(rules, &more));
  return choice(std::move(ways));
}

std::vector<std::string> Lowering::known_names(const ObjectRules& rules) {
  std::vector<std::string> names;
  const auto add_name = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ObjectRules::Layer& layer : rules.layers) {
    for (const auto& [name, literal] : layer.named) add_name(name);
  }
  for (const std::string& name : rules.required) add_name(name);
  return names;
}

PiecePtr Lowering::members(const ObjectRules& rules, const Conjunction* one_more) {
  const std::vector<std::string> names = known_names(rules);
  std::vector<Member> known;
  for (const std::string& name : names) {
    const bool required =
        std::find(rules.required.begin(), rules.required.end(), name) != rules.required.end();
    const Conjunction value = normaliser_.of_member(rules, name);
    const bool forbidden =
        std::find(value.begin(), value.end(), Literal{&kNoSchema, true}) != value.end() ||
        std::any_of(value.begin(), value.end(),
                    [](const Literal& one) {
                      return one.schema->is_boolean() && one.schema->get<bool>() != one.holds;
                    }) ||
        !normaliser_.fits(rules.names, name);
    if (forbidden && required) return choice({});
    if (forbidden) continue;
    known.push_back({sequence({literal(Json(name).dump()), json_.colon, of(value)}), required});
  }
  std::vector<PiecePtr> others, more;
  for (const NameClass& one : further_names(rules, names)) {
    const PiecePtr name = one.names.universal(0)
                              ? reference(json_.string_rule)
                              : sequence({literal("\""), texts_.of_automaton(one.names, true)});
    const PiecePtr key = one.names.universal(0) ? name : rule_of(name);
    others.push_back(sequence({key, json_.colon, of(one.value)}));
    if (one_more == nullptr) continue;
    Conjunction value = one.value;
    for (const Literal& literal : *one_more) add(value, literal);
    more.push_back(sequence({key, json_.colon, of(value)}));
  }
  const PiecePtr further = others.empty() ? nullptr : rule_of(choice(std::move(others)));
  if (known.size() > 2) {
    for (Member& one : known) one.text = rule_of(std::move(one.text));
  }
  const std::size_t required =
      std::count_if(known.begin(), known.end(), [](const Member& one) { return one.required; });
  if (one_more != nullptr) {
    if (more.empty()) return choice({});
    if (rules.count.most != kWithoutEnd || rules.count.least > static_cast<int>(required) + 1) {
      refuse("/additionalProperties is not enforced under not beside counts of properties");
    }
    const PiecePtr another = choice(std::move(more));
    std::vector<PiecePtr> parts;
    for (const Member& one : known) {
      const PiecePtr part = sequence({one.text, json_.comma});
      parts.push_back(one.required ? part : repeat(part, 0, 1));
    }
    parts.push_back(repeat(sequence({further, json_.comma}), 0, -1));
    parts.push_back(another);
    parts.push_back(repeat(sequence({json_.comma, further}), 0, -1));
    return json_.braced("{", sequence(parts), "}");
  }
  const bool counted = rules.count.least > static_cast<int>(required) ||
                       (rules.count.most != kWithoutEnd &&
                        (further != nullptr || rules.count.most < static_cast<int>(known.size())));
  if (counted) return counted_members(known, further, rules.count);
  const PiecePtr tail = further == nullptr ? literal("") : repeat(sequence({json_.comma, further}), 0, -1);
  if (required > 0) {
    std::vector<PiecePtr> parts;
    bool first = true;  // none is certain to come before
    for (const Member& one : known) {
      if (first) {
        parts.push_back(one.required ? one.text : repeat(sequence({one.text, json_.comma}), 0, 1));
        first = !one.required;
      } else {
        const PiecePtr part = sequence({json_.comma, one.text});
        parts.push_back(one.required ? part : repeat(part, 0, 1));
      }
    }
    parts.push_back(tail);
    return json_.braced("{", sequence(parts), "}");
  }
  std::vector<PiecePtr> ways;
  if (!known.empty()) ways.push_back(sequence({any_of_members(known, 0, known.size()), tail}));
  if (further != nullptr) ways.push_back(sequence({further, tail}));
  std::vector<PiecePtr> objects;
  if (!ways.empty()) objects.push_back(json_.braced("{", choice(std::move(ways)), "}"));
  objects.push_back(json_.braced("{", nullptr, "}"));
  return choice(std::move(objects));
}

/// At least one of these optional members. Halves keep the rules few where members are many.
PiecePtr Lowering::any_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to) {
  if (to - from == 1) return all[from].text;
  const std::size_t middle = from + (to - from) / 2;
  return rule_of(choice({sequence({any_of_members(all, from, middle), rest_of_members(all, middle, to)}),
                         any_of_members(all, middle, to)}));
}

PiecePtr Lowering::rest_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to) {
  std::vector<PiecePtr> parts;
  for (std::size_t i = from; i < to; ++i) parts.push_back(repeat(sequence({json_.comma, all[i].text}), 0, 1));
  return rule_of(sequence(parts));
}

PiecePtr Lowering::counted_members(const std::vector<Member>& all, const PiecePtr& further,
                                   const Counts& count) {
  const int limit = count.most == kWithoutEnd ? count.least : count.most;
  const int kept = std::min<int>(std::max(limit, 1), static_cast<int>(all.size()) + 1);
  if (all.size() * static_cast<std::size_t>(kept) > kMostCells) {
    refuse("/minProperties or maxProperties is too large to be enforced");
  }
  std::map<std::pair<std::size_t, int>, PiecePtr> cells;
  const std::function<PiecePtr(std::size_t, int)> behind = [&](std::size_t at, int so_far) -> PiecePtr {
    if (const auto found = cells.find({at, so_far}); found != cells.end()) return found->second;
    PiecePtr piece;
    if (at == all.size()) {
      const int least = std::max(0, count.least - so_far);
      const int most = count.most == kWithoutEnd ? kWithoutEnd : count.most - so_far;
      if (further == nullptr || most == 0) {
        piece = least == 0 ? literal("") : choice({});
      } else {
        if (least > 1)
          refuse(
              "/minProperties can only be enforced up to one more than are required, or where all are named");
        std::vector<PiecePtr> ways;
        if (least == 0) ways.push_back(literal(""));
        ways.push_back(sequence(
            {so_far > 0 ? json_.comma : literal(""), further,
             repeat(sequence({json_.comma, further}), 0, most == kWithoutEnd ? kWithoutEnd : most - 1)}));
        piece = choice(std::move(ways));
      }
    } else {
      std::vector<PiecePtr> ways;
      if (count.most == kWithoutEnd || so_far < count.most) {
        const int next =
            count.most == kWithoutEnd ? std::min(so_far + 1, std::max(count.least, 1)) : so_far + 1;
        ways.push_back(
            sequence({so_far > 0 ? json_.comma : literal(""), all[at].text, behind(at + 1, next)}));
      }
      if (!all[at].required) ways.push_back(behind(at + 1, so_far));
      piece = choice(std::move(ways));
    }
    return cells[{at, so_far}] = rule_of(std::move(piece));
  };
  std::vector<PiecePtr> ways = {json_.braced("{", behind(0, 0), "}")};
  return choice(std::move(ways));
}

}  // namespace augur
