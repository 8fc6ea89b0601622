#pragma once
#include <filesystem>
#include <string_view>

namespace augur {

// What was learned for a drafter (a policy's classifier, bins or head, a draft vocabulary) lies in the
// drafter's folder, in a folder named like its kind, and is found there when no path is given.

/// Where the parts of a drafter lie: in its folder, or beside its file (a GGUF) in a folder of the file's
/// name without the ending. Empty for no drafter.
std::filesystem::path parts_folder(const std::filesystem::path& drafter);

/// The part of a kind ("c2t"); empty where there is none.
std::filesystem::path find_part(const std::filesystem::path& parts, std::string_view kind);

/// The same; where there is none, an Error that says what needs it (`what`: "policy c2t"), where it was
/// looked for, how it is made, and how one that lies elsewhere is named (`elsewhere`: "c2t:model=FOLDER").
std::filesystem::path require_part(const std::filesystem::path& parts, std::string_view kind,
                                   std::string_view what, std::string_view elsewhere);

}  // namespace augur
