#include "server/tokenize_fields.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace augur {

const FieldTable<ContentToTokenize>& tokenize_content_fields() {
  using To = ContentToTokenize;
  static const FieldTable<To> table = {
      {{"content", FieldType::text(), {}, true}, [](const FieldValue& v, To& to) { to.text = v.text(); }},
      {{"add_special", FieldType::boolean()},
       [](const FieldValue& v, To& to) { to.add_special = v.boolean(); }},
      {{"with_pieces", FieldType::boolean()},
       [](const FieldValue& v, To& to) { to.with_pieces = v.boolean(); }},
      {{"parse_special", FieldType::boolean(), "special tokens are recognised in the text"},
       [](const FieldValue& v, To& to) { to.parse_special = v.boolean(); }},
      ignored_field<To>("model", FieldType::text())};
  return table;
}

const FieldTable<std::vector<TokenId>>& detokenize_fields() {
  using To = std::vector<TokenId>;
  static const FieldTable<To> table = {
      {{"tokens",
        FieldType::schema(R"({"type": "array", "items": {"$ref": "#/components/schemas/TokenId"}})"),
        {},
        true},
       [](const FieldValue& v, To& to) {
         if (!v.json.is_array()) unexpected(v.path, "a list of token ids");
         for (std::size_t i = 0; i < v.json.size(); ++i) {
           to.push_back(static_cast<TokenId>(read_integer(fmt::format("{}[{}]", v.path, i), v.json[i], 0,
                                                          std::numeric_limits<TokenId>::max())));
         }
       }},
      ignored_field<To>("model", FieldType::text())};
  return table;
}

}  // namespace augur
