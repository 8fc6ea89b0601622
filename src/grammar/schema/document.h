#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/schema/constraint.h"

namespace augur {

enum class Draft { Four = 4, Six = 6, Seven = 7, Nineteen = 2019, Twenty = 2020 };

/// A schema as it is written: where its parts are, what they refer to, which words it is written in.
class Document {
 public:
  /// Error for what is no schema.
  explicit Document(Json root);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  const Json* root() const { return &root_; }
  Draft draft() const { return draft_; }
  /// "#/properties/a".
  std::string place(const Json* schema) const;
  /// Error naming the place of a reference that leads to no schema of this document.
  const Json* resolve(const Json* from, const std::string& reference);
  /// Whether what a $dynamicRef or $recursiveRef leads to depends on the references that have led to it
  /// (JSON Schema 2020-12, 8.2.3.2): where its target has an anchor for that, and other schemas have the
  /// same.
  bool depends_on_path(const Json* target, const std::string& reference) const;
  /// What is passed over though it may have been meant to constrain: unknown keywords and formats, with their
  /// places.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void look_through(const Json& schema, const std::string& place, const std::string& base);
  void warn_of(const Json& schema, const std::string& place);

  Json root_;
  Draft draft_ = Draft::Twenty;
  std::unordered_map<const Json*, std::string> places_;
  std::unordered_map<const Json*, std::string> bases_;
  std::map<std::string, const Json*> resources_;  ///< by URI, with "#anchor" where one is named
  std::map<std::string, int> dynamic_anchors_;    ///< how many schemas have each; "": $recursiveAnchor
  std::vector<std::string> warnings_;
  std::size_t unnamed_ = 0;  ///< warnings beyond those that are kept
};

/// Whether a word constrains values.
bool asserts(std::string_view keyword);

/// A string as a reference writes it: percent-decoded.
std::string percent_decoded(std::string_view text);

}  // namespace augur
