#include "grammar/schema/grammar_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace augur {

struct Piece {
  enum class Kind { Literal, Character, Sequence, Choice, Repeat, Reference };
  explicit Piece(Kind its_kind) : kind(its_kind) {}
  Kind kind;
  std::string text;  ///< of Literal
  CodeSet set;       ///< of Character
  std::vector<PiecePtr> parts;
  int least = 0, most = -1;  ///< of Repeat
  int rule = -1;             ///< of Reference
  MeteredBytes held = {};
};

namespace {

using Kind = Piece::Kind;

std::string escaped(CodePoint c, std::string_view special) {
  if (c < 0x20 || c > 0x7e) return fmt::format("\\U{:08x}", c);
  const char plain = static_cast<char>(c);
  if (plain == '"' || plain == '\\') return std::string("\\") + plain;
  return special.find(plain) != std::string_view::npos ? fmt::format("\\U{:08x}", c) : std::string(1, plain);
}

bool complete(const PiecePtr& piece, const std::vector<bool>& rules) {
  const auto all = [&](const PiecePtr& part) { return complete(part, rules); };
  switch (piece->kind) {
    case Kind::Literal:
      return true;
    case Kind::Character:
      return !piece->set.empty();
    case Kind::Sequence:
      return std::all_of(piece->parts.begin(), piece->parts.end(), all);
    case Kind::Choice:
      return std::any_of(piece->parts.begin(), piece->parts.end(), all);
    case Kind::Repeat:
      return piece->least == 0 || complete(piece->parts[0], rules);
    case Kind::Reference:
      return rules[piece->rule];
  }
  return false;
}

void print(const PiecePtr& piece, const std::vector<bool>& rules, const std::vector<std::string>& names,
           std::vector<int>& used, std::string& out);

void print_repeated(const PiecePtr& piece, const std::vector<bool>& rules,
                    const std::vector<std::string>& names, std::vector<int>& used, std::string& out) {
  const bool alone =
      piece->kind == Kind::Character || piece->kind == Kind::Reference || piece->kind == Kind::Literal;
  if (!alone) out += '(';
  print(piece, rules, names, used, out);
  if (!alone) out += ')';
}

/// Only what is complete, with the rules it refers to added to `used`.
void print(const PiecePtr& piece, const std::vector<bool>& rules, const std::vector<std::string>& names,
           std::vector<int>& used, std::string& out) {
  switch (piece->kind) {
    case Kind::Literal:
      out += '"';
      for (const CodePoint c : code_points(piece->text)) out += escaped(c, "");
      out += '"';
      return;
    case Kind::Character:
      out += '[';
      for (const CodeRange& range : piece->set) {
        out += escaped(range.first, "[]^-");
        if (range.last > range.first) out += "-" + escaped(range.last, "[]^-");
      }
      out += ']';
      return;
    case Kind::Sequence:
      if (piece->parts.empty()) out += "\"\"";
      for (std::size_t i = 0; i < piece->parts.size(); ++i) {
        if (i > 0) out += ' ';
        print(piece->parts[i], rules, names, used, out);
      }
      return;
    case Kind::Choice: {
      out += '(';
      bool first = true;
      for (const PiecePtr& part : piece->parts) {
        if (!complete(part, rules)) continue;
        if (!std::exchange(first, false)) out += " | ";
        print(part, rules, names, used, out);
      }
      out += ')';
      return;
    }
    case Kind::Repeat:
      if (!complete(piece->parts[0], rules)) {
        out += "\"\"";
        return;
      }
      print_repeated(piece->parts[0], rules, names, used, out);
      if (piece->least == 0 && piece->most == 1) {
        out += '?';
      } else if (piece->most < 0) {
        out += piece->least == 0 ? "*" : piece->least == 1 ? "+" : fmt::format("{{{},}}", piece->least);
      } else {
        out += fmt::format("{{{},{}}}", piece->least, piece->most);
      }
      return;
    case Kind::Reference:
      used.push_back(piece->rule);
      out += names[piece->rule];
      return;
  }
}

PiecePtr made(Piece piece) {
  piece.held.add(static_cast<std::int64_t>(sizeof(Piece) + piece.text.capacity() +
                                           piece.set.capacity() * sizeof(CodeRange) +
                                           piece.parts.capacity() * sizeof(PiecePtr)));
  return std::make_shared<const Piece>(std::move(piece));
}

}  // namespace

PiecePtr literal(std::string text) {
  Piece piece(Kind::Literal);
  piece.text = std::move(text);
  return made(std::move(piece));
}

PiecePtr character(const CodeSet& set) {
  Piece piece(Kind::Character);
  piece.set = set;
  return made(std::move(piece));
}

PiecePtr sequence(const std::vector<PiecePtr>& parts) {
  std::vector<PiecePtr> flat;
  const auto put = [&](const PiecePtr& part) {
    if (part->kind == Kind::Literal && part->text.empty()) return;
    if (part->kind == Kind::Literal && !flat.empty() && flat.back()->kind == Kind::Literal) {
      flat.back() = literal(flat.back()->text + part->text);
    } else {
      flat.push_back(part);
    }
  };
  for (const PiecePtr& part : parts) {
    if (part->kind == Kind::Sequence) {
      for (const PiecePtr& inner : part->parts) put(inner);
    } else {
      put(part);
    }
  }
  if (flat.size() == 1) return flat[0];
  Piece piece(Kind::Sequence);
  piece.parts = std::move(flat);
  return made(std::move(piece));
}

PiecePtr choice(std::vector<PiecePtr> parts) {
  if (parts.size() == 1) return parts[0];
  Piece piece(Kind::Choice);
  for (PiecePtr& part : parts) {
    if (part->kind == Kind::Choice) {
      piece.parts.insert(piece.parts.end(), part->parts.begin(), part->parts.end());
    } else {
      piece.parts.push_back(std::move(part));
    }
  }
  return made(std::move(piece));
}

PiecePtr repeat(PiecePtr part, int least, int most) {
  if (most == 0) return literal("");
  if (least == 1 && most == 1) return part;
  Piece piece(Kind::Repeat);
  piece.parts = {std::move(part)};
  piece.least = least;
  piece.most = most;
  return made(std::move(piece));
}

PiecePtr reference(int rule) {
  Piece piece(Kind::Reference);
  piece.rule = rule;
  return made(std::move(piece));
}

int GrammarText::add_rule(const std::string& name) {
  rules_.push_back({name.empty() ? fmt::format("r{}", rules_.size()) : name, nullptr, ""});
  return static_cast<int>(rules_.size()) - 1;
}

void GrammarText::define(int rule, PiecePtr body, std::string ahead) {
  rules_[rule].body = std::move(body);
  rules_[rule].ahead = std::move(ahead);
}

/// For every rule the first one that says the same; -1 for those that are not complete.
std::vector<int> GrammarText::representatives(const std::vector<bool>& done) const {
  std::vector<int> same(rules_.size());
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = done[i] ? static_cast<int>(i) : -1;
  std::vector<std::string> names(rules_.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < same.size(); ++i) names[i] = same[i] < 0 ? "" : rules_[same[i]].name;
    std::unordered_map<std::string, int> known;
    for (std::size_t i = 0; i < same.size(); ++i) {
      if (same[i] != static_cast<int>(i)) continue;
      std::string body = rules_[i].ahead + '=';
      std::vector<int> used;
      augur::print(rules_[i].body, done, names, used, body);
      const auto [found, fresh] = known.try_emplace(std::move(body), static_cast<int>(i));
      // What is but another rule's name is that rule.
      const int other = !fresh                                                     ? found->second
                        : used.size() == 1 && found->first == "=" + names[used[0]] ? same[used[0]]
                                                                                   : -1;
      if (other < 0 || other == static_cast<int>(i)) continue;
      same[i] = other;
      changed = true;
    }
    for (std::size_t i = 0; i < same.size(); ++i) {
      while (same[i] >= 0 && same[same[i]] != same[i]) same[i] = same[same[i]];
    }
  }
  return same;
}

std::string GrammarText::print(int root) const {
  std::vector<bool> done(rules_.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = rules_.size(); i-- > 0;) {
      if (done[i] || !complete(rules_[i].body, done)) continue;
      done[i] = changed = true;
    }
  }
  if (!done[root]) return {};
  const std::vector<int> same = representatives(done);
  std::vector<std::string> names;
  for (const int rule : same) names.push_back(rules_[rule < 0 ? root : rule].name);
  root = same[root];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (same[i] == root) names[i] = "root";
  }
  std::string out;
  MeteredBytes held;
  std::size_t counted = 0;  // of what is written
  std::vector<int> queue = {root};
  std::vector<bool> printed(rules_.size(), false);
  printed[root] = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Rule& rule = rules_[queue[i]];
    std::vector<int> used;
    out += names[queue[i]] + " ::= ";
    augur::print(rule.body, done, names, used, out);
    held.add(static_cast<std::int64_t>(2 * (out.size() - std::exchange(counted, out.size()))));
    if (!rule.ahead.empty()) out += " (=" + rule.ahead + ")";
    out += '\n';
    for (const int one : used) {
      const int next = same[one];
      if (printed[next]) continue;
      printed[next] = true;
      queue.push_back(next);
    }
  }
  return out;
}

}  // namespace augur
