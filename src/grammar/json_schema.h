#pragma once
#include <string>
#include <string_view>

namespace augur {

/// A JSON schema as xgrammar is to have it. It enforces one keyword of a schema that decides ($ref, const,
/// enum, anyOf, oneOf, allOf, type), and those that go with it; what else constrains is passed over. So each
/// schema in it is looked through. Error naming the place of a keyword that would not be enforced, or of what
/// is no schema. Objects whose schema names no properties may have any, arrays without items any items;
/// otherwise objects are closed where nothing is said, as OpenAI's strict schemas have to be.
std::string enforceable_schema(std::string_view text);

}  // namespace augur
