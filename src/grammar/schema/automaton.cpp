#include "grammar/schema/automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "grammar/work_meter.h"

namespace augur {
namespace {

/// With room to grow.
std::int64_t bytes_of(const Automaton::State& state) {
  return 2 * static_cast<std::int64_t>(sizeof state + state.edges.size() * sizeof(Automaton::Edge));
}

int target(const Automaton& automaton, int state, CodePoint c) {
  if (state < 0) return -1;
  const auto& edges = automaton.states[state].edges;
  const auto found = std::partition_point(edges.begin(), edges.end(),
                                          [&](const Automaton::Edge& edge) { return edge.last < c; });
  return found == edges.end() || found->first > c ? -1 : found->to;
}

void append(std::vector<Automaton::Edge>& edges, CodePoint first, CodePoint last, int to) {
  if (!edges.empty() && edges.back().to == to && edges.back().last + 1 == first) {
    edges.back().last = last;
  } else {
    edges.push_back({first, last, to});
  }
}

/// Calls use(first, last) for every stretch of code points that all the edges treat alike.
template <typename Use>
void for_each_stretch(std::vector<CodePoint> begins, Use use) {
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) use(begins[i], begins[i + 1] - 1);
}

void add_begins(const std::vector<Automaton::Edge>& edges, std::vector<CodePoint>& begins) {
  for (const Automaton::Edge& edge : edges) {
    begins.push_back(edge.first);
    begins.push_back(edge.last + 1);
  }
}

/// What both lead to; -1 stands for nowhere. `accepts` decides from both.
template <typename Accepts>
Automaton product(const Automaton& a, const Automaton& b, bool without_first, bool without_second,
                  Accepts accepts) {
  Automaton result;
  std::map<std::pair<int, int>, int> known;
  std::vector<std::pair<int, int>> pairs;
  const auto state_of = [&](int of_a, int of_b) {
    if ((of_a < 0 && !without_first) || (of_b < 0 && !without_second) || (of_a < 0 && of_b < 0)) return -1;
    const auto [found, fresh] = known.try_emplace({of_a, of_b}, static_cast<int>(pairs.size()));
    if (fresh) pairs.emplace_back(of_a, of_b);
    if (pairs.size() > 4 * kMostStates) throw AutomatonTooLarge();
    return found->second;
  };
  if (state_of(a.empty() ? -1 : 0, b.empty() ? -1 : 0) < 0) return {};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    spend_steps(16);
    const int of_a = pairs[i].first;
    const int of_b = pairs[i].second;
    Automaton::State state;
    state.accepts = accepts(of_a >= 0 && a.states[of_a].accepts, of_b >= 0 && b.states[of_b].accepts);
    std::vector<CodePoint> begins;
    if (of_a >= 0) add_begins(a.states[of_a].edges, begins);
    if (of_b >= 0) add_begins(b.states[of_b].edges, begins);
    for_each_stretch(begins, [&](CodePoint first, CodePoint last) {
      const int to = state_of(target(a, of_a, first), target(b, of_b, first));
      if (to >= 0) append(state.edges, first, last, to);
    });
    result.states.push_back(std::move(state));
  }
  return minimal(result);
}

}  // namespace

CodeSet sorted_set(CodeSet ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodeSet result;
  for (const CodeRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

CodeSet complement(const CodeSet& set) {
  CodeSet result;
  CodePoint next = 0;
  for (const CodeRange& range : set) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) result.push_back({next, kLastCodePoint});
  return result;
}

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    CodePoint point = more == 3 ? lead & 7u : more == 2 ? lead & 15u : more == 1 ? lead & 31u : lead;
    for (; more > 0 && i < text.size(); --more)
      point = point << 6 | (static_cast<unsigned char>(text[i++]) & 63u);
    points.push_back(point);
  }
  return points;
}

bool Automaton::matches(std::string_view text) const {
  int state = empty() ? -1 : 0;
  for (const CodePoint c : code_points(text)) state = target(*this, state, c);
  return state >= 0 && states[state].accepts;
}

bool Automaton::universal(int state) const {
  const State& at = states[state];
  return at.accepts && at.edges.size() == 1 && at.edges[0].to == state && at.edges[0].first == 0 &&
         at.edges[0].last >= kLastCodePoint;
}

Automaton every_text() {
  return {{{true, {{0, kLastCodePoint, 0}}}}};
}

Automaton one_text(std::string_view text) {
  Automaton result;
  for (const CodePoint c : code_points(text)) {
    result.states.push_back({false, {{c, c, static_cast<int>(result.states.size()) + 1}}});
  }
  result.states.push_back({true, {}});
  return result;
}

Automaton texts_of_length(int least, int most) {
  Automaton result;
  const int last = most < 0 ? least : most;
  if (last + 1 > static_cast<int>(kMostStates)) throw AutomatonTooLarge();
  for (int i = 0; i <= last; ++i) {
    result.states.push_back({i >= least, {}});
    if (i < last) result.states.back().edges.push_back({0, kLastCodePoint, i + 1});
  }
  if (most < 0) result.states.back().edges.push_back({0, kLastCodePoint, last});
  return result;
}

namespace {

/// The coarsest classes of living states of which all go on alike, by state; -1: a dead one. Classes are
/// split until nothing changes, as by Moore, but only states that lead to one whose class has changed are
/// looked at again, and of a class's parts the largest keeps its number: a state changes it at most log n
/// times. `from`: which states lead to each.
std::vector<int> refined(const Automaton& automaton, const std::vector<bool>& alive,
                         const std::vector<std::vector<int>>& from) {
  const int count = static_cast<int>(automaton.states.size());
  std::vector<int> of(count, -1);
  std::vector<std::vector<int>> members(2);
  std::vector<int> suspects;
  for (int i = 0; i < count; ++i) {
    if (!alive[i]) continue;
    of[i] = automaton.states[i].accepts ? 1 : 0;
    members[of[i]].push_back(i);
    suspects.push_back(i);
  }
  if (members[0].empty()) {  // classes are numbered from 0
    std::swap(members[0], members[1]);
    for (const int state : members[0]) of[state] = 0;
    members.pop_back();
  }
  using Signature = std::vector<Automaton::Edge>;
  const auto signature_of = [&](int state) {
    Signature signature;
    for (const auto& edge : automaton.states[state].edges) {
      if (of[edge.to] >= 0) append(signature, edge.first, edge.last, of[edge.to]);
    }
    return signature;
  };
  std::vector<int> place(count, 0);  // among the members of its class
  const auto put = [&](const std::vector<int>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) place[list[i]] = static_cast<int>(i);
  };
  for (const std::vector<int>& list : members) put(list);
  while (!suspects.empty()) {
    spend_steps(std::ssize(suspects));
    // Those of a class that lead elsewhere than before are unlike the rest of it, whose edges are what they
    // were.
    std::map<int, std::map<Signature, std::vector<int>>> parts;
    for (const int state : suspects) parts[of[state]][signature_of(state)].push_back(state);
    std::vector<int> changed;
    for (auto& [its_class, groups] : parts) {
      std::vector<int>& rest = members[its_class];
      std::vector<std::vector<int>> split;
      for (auto& [signature, group] : groups) {
        for (const int state : group) {
          place[rest.back()] = place[state];
          rest[static_cast<std::size_t>(place[state])] = rest.back();
          rest.pop_back();
        }
        split.push_back(std::move(group));
      }
      const bool has_rest = !rest.empty();
      if (has_rest) split.push_back(std::move(rest));
      const auto largest = std::max_element(split.begin(), split.end(),
                                            [](const auto& a, const auto& b) { return a.size() < b.size(); });
      const bool is_rest = has_rest && largest + 1 == split.end();  // whose places are right
      members[its_class] = std::move(*largest);
      if (!is_rest) put(members[its_class]);
      split.erase(largest);
      for (std::vector<int>& part : split) {
        for (const int state : part) {
          of[state] = static_cast<int>(members.size());
          changed.push_back(state);
        }
        put(part);
        members.push_back(std::move(part));
      }
    }
    suspects.clear();
    for (const int state : changed) {
      for (const int before : from[state]) {
        if (of[before] >= 0) suspects.push_back(before);
      }
    }
    std::sort(suspects.begin(), suspects.end());
    suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
  }
  return of;
}

}  // namespace

Automaton minimal(const Automaton& automaton) {
  const int count = static_cast<int>(automaton.states.size());
  // States from which nothing is accepted go.
  std::vector<std::vector<int>> from(count);
  std::vector<int> todo;
  std::vector<bool> alive(count, false);
  for (int i = 0; i < count; ++i) {
    for (const auto& edge : automaton.states[i].edges) from[edge.to].push_back(i);
    if (automaton.states[i].accepts) {
      alive[i] = true;
      todo.push_back(i);
    }
  }
  while (!todo.empty()) {
    const int state = todo.back();
    todo.pop_back();
    for (const int before : from[state]) {
      if (!alive[before]) {
        alive[before] = true;
        todo.push_back(before);
      }
    }
  }
  if (count == 0 || !alive[0]) return {};
  const std::vector<int> of = refined(automaton, alive, from);
  const std::size_t classes = static_cast<std::size_t>(*std::max_element(of.begin(), of.end())) + 1;
  if (classes > kMostStates) throw AutomatonTooLarge();
  // In the order in which they are reached.
  std::vector<int> order(classes, -1), representative(classes, -1), queue;
  for (int i = 0; i < count; ++i) {
    if (alive[i] && representative[of[i]] < 0) representative[of[i]] = i;
  }
  const auto number = [&](int its_class) {
    if (order[its_class] < 0) {
      order[its_class] = static_cast<int>(queue.size());
      queue.push_back(its_class);
    }
    return order[its_class];
  };
  number(of[0]);
  Automaton result;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Automaton::State& old = automaton.states[representative[queue[i]]];
    Automaton::State state{old.accepts, {}};
    for (const auto& edge : old.edges) {
      if (of[edge.to] >= 0) append(state.edges, edge.first, edge.last, number(of[edge.to]));
    }
    result.states.push_back(std::move(state));
  }
  return result;
}

std::int64_t Automaton::bytes() const {
  std::int64_t sum = 0;
  for (const State& state : states) sum += bytes_of(state);
  return sum;
}

Automaton intersection(const Automaton& a, const Automaton& b) {
  return product(a, b, false, false, [](bool x, bool y) { return x && y; });
}

Automaton difference(const Automaton& a, const Automaton& b) {
  return product(a, b, false, true, [](bool x, bool y) { return x && !y; });
}

Automaton united(const Automaton& a, const Automaton& b) {
  return product(a, b, true, true, [](bool x, bool y) { return x || y; });
}

Automaton between_markers(const Automaton& automaton) {
  if (automaton.empty()) return {};
  Automaton result;
  const int begin = target(automaton, 0, kTextBegin);
  if (begin < 0) return {};
  // The state behind the first marker changes places with the first.
  const auto renamed = [&](int state) { return state == begin ? 0 : state == 0 ? begin : state; };
  result.states.resize(automaton.states.size());
  for (int i = 0; i < static_cast<int>(automaton.states.size()); ++i) {
    Automaton::State& state = result.states[renamed(i)];
    const int end = target(automaton, i, kTextEnd);
    state.accepts = end >= 0 && automaton.states[end].accepts;
    for (const auto& edge : automaton.states[i].edges) {
      if (edge.first > kLastCodePoint) continue;
      state.edges.push_back({edge.first, std::min<CodePoint>(edge.last, kLastCodePoint), renamed(edge.to)});
    }
  }
  return minimal(result);
}

int Nfa::add_state() {
  spend_steps(1);
  if (states_.size() > 20 * kMostStates) throw AutomatonTooLarge();
  held_.add(2 * sizeof(State));  // with room to grow, as below
  states_.emplace_back();
  return static_cast<int>(states_.size()) - 1;
}

void Nfa::add_edge(int from, const CodeSet& set, int to) {
  held_.add(std::ssize(set) * 2 * static_cast<std::int64_t>(sizeof(Automaton::Edge)));
  for (const CodeRange& range : set) states_[from].edges.push_back({range.first, range.last, to});
}

void Nfa::add_empty_edge(int from, int to) {
  held_.add(2 * sizeof(int));
  states_[from].empty.push_back(to);
}

int Nfa::embed(const Automaton& automaton, int end) {
  const int base = static_cast<int>(states_.size());
  held_.add(2 * automaton.bytes());
  for (std::size_t i = 0; i < std::max<std::size_t>(automaton.states.size(), 1); ++i) add_state();
  for (std::size_t i = 0; i < automaton.states.size(); ++i) {
    for (const auto& edge : automaton.states[i].edges) {
      states_[base + i].edges.push_back({edge.first, edge.last, base + edge.to});
    }
    if (automaton.states[i].accepts) add_empty_edge(base + static_cast<int>(i), end);
  }
  return base;
}

void Nfa::close(std::vector<int>& states) const {
  std::set<int> seen(states.begin(), states.end());
  for (std::size_t i = 0; i < states.size(); ++i) {
    spend_steps(1);
    for (const int next : states_[states[i]].empty) {
      if (seen.insert(next).second) states.push_back(next);
    }
  }
  std::sort(states.begin(), states.end());
}

Automaton Nfa::determinised(int start, int end) const {
  Automaton result;
  std::map<std::vector<int>, int> known;
  std::vector<std::vector<int>> sets;
  MeteredBytes held;
  constexpr std::int64_t kEntryBytes = 160;
  const auto state_of = [&](std::vector<int> set) {
    close(set);
    const auto [found, fresh] = known.try_emplace(set, static_cast<int>(sets.size()));
    if (fresh) {
      held.add(kEntryBytes + 2 * static_cast<std::int64_t>(set.capacity() * sizeof(int)));
      sets.push_back(std::move(set));
    }
    if (sets.size() > 4 * kMostStates) throw AutomatonTooLarge();
    return found->second;
  };
  state_of({start});
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::vector<int> set = sets[i];
    Automaton::State state;
    std::vector<CodePoint> begins;
    for (const int member : set) {
      state.accepts = state.accepts || member == end;
      add_begins(states_[member].edges, begins);
    }
    for_each_stretch(begins, [&](CodePoint first, CodePoint last) {
      std::vector<int> next;
      for (const int member : set) {
        for (const auto& edge : states_[member].edges) {
          if (edge.first <= first && last <= edge.last) next.push_back(edge.to);
        }
      }
      if (next.empty()) return;
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      append(state.edges, first, last, state_of(std::move(next)));
    });
    held.add(bytes_of(state));
    result.states.push_back(std::move(state));
  }
  return minimal(result);
}

}  // namespace augur
