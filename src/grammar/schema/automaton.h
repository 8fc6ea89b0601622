#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "grammar/work_meter.h"

namespace augur {

using CodePoint = std::uint32_t;
/// What stands before and behind every text while an expression with anchors is compiled.
inline constexpr CodePoint kTextBegin = kLastCodePoint + 1;
inline constexpr CodePoint kTextEnd = kLastCodePoint + 2;

struct CodeRange {
  CodePoint first, last;
  auto operator<=>(const CodeRange&) const = default;
};

/// Sorted, disjoint, no two adjacent.
using CodeSet = std::vector<CodeRange>;
CodeSet sorted_set(CodeSet ranges);
/// The characters (no markers) that are not in it.
CodeSet complement(const CodeSet& set);

/// Thrown where an automaton would get more states than it may have.
struct AutomatonTooLarge {};

/// A set of texts: a deterministic automaton over code points. What has no edge leads nowhere.
struct Automaton {
  struct Edge {
    CodePoint first, last;
    int to;
    auto operator<=>(const Edge&) const = default;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  ///< sorted, disjoint
  };
  std::vector<State> states;  ///< the first is where a text begins; none: no text

  bool empty() const { return states.empty(); }
  std::int64_t bytes() const;
  /// UTF-8.
  bool matches(std::string_view text) const;
  /// Whether every text leads from there to acceptance.
  bool universal(int state) const;
};

inline constexpr std::size_t kMostStates = 4000;

Automaton every_text();
Automaton one_text(std::string_view text);
/// All but the last accept where `least` characters are reached; -1: no greatest length.
Automaton texts_of_length(int least, int most);

// Results are minimal. AutomatonTooLarge beyond kMostStates.
Automaton minimal(const Automaton& automaton);
Automaton intersection(const Automaton& a, const Automaton& b);
Automaton difference(const Automaton& a, const Automaton& b);
Automaton united(const Automaton& a, const Automaton& b);
/// The texts that it has between the two markers.
Automaton between_markers(const Automaton& automaton);

/// A non-deterministic automaton in the making.
class Nfa {
 public:
  int add_state();
  void add_edge(int from, const CodeSet& set, int to);
  void add_empty_edge(int from, int to);
  /// Its first state, and -> `end` from all that accept.
  int embed(const Automaton& automaton, int end);
  Automaton determinised(int start, int end) const;

 private:
  struct State {
    std::vector<Automaton::Edge> edges;
    std::vector<int> empty;
  };
  void close(std::vector<int>& states) const;
  std::vector<State> states_;
  MeteredBytes held_;
};

/// The code points of UTF-8; what is none is passed over.
std::vector<CodePoint> code_points(std::string_view text);

}  // namespace augur
