#include "server/llamacpp/saved_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/fields/json_fields.h"
#include "server/tenants.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

void check_name(const std::string& name) {
  const bool fine = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > 0x20 && c != 0x7f && c != '/' && c != '\\' && c != ':';
  });
  if (!fine || name.empty() || name.front() == '.') {
    unexpected("filename", "a name without separators, spaces and control characters, no '.' in front");
  }
}

}  // namespace

SavedTexts::SavedTexts(fs::path folder, std::int64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

void SavedTexts::check_enabled() const {
  if (folder_.empty()) throw Problem(501, "this server saves no texts: it needs --slot-save-path");
}

std::string SavedTexts::path_of(const TextOwner& owner, const std::string& name) const {
  check_name(name);
  const fs::path path = folder_ / folder_of(owner.tenant, owner.salt) / name;
  std::error_code nothing;
  const fs::file_status status = fs::symlink_status(path, nothing);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    unexpected("filename", "a file, or a name that is free: this is neither");
  }
  return path.string();
}

void SavedTexts::make_folder(const TextOwner& owner) const {
  const fs::path folder = folder_ / folder_of(owner.tenant, owner.salt);
  std::error_code failed;
  if (fs::create_directory(folder, failed)) fs::permissions(folder, fs::perms::owner_all, failed);
}

std::int64_t SavedTexts::bytes() const {
  std::int64_t sum = 0;
  std::error_code error;  // of a file that goes meanwhile
  for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::uintmax_t size = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) sum += static_cast<std::int64_t>(size);
  }
  return sum;
}

bool SavedTexts::is_too_full() const {
  return bytes() > most_bytes_;
}

void SavedTexts::check_room() const {
  if (bytes() < most_bytes_) return;
  throw Problem(507, fmt::format("saved texts take all of the {} bytes that they may (--slot-save-quota)",
                                 most_bytes_));
}

}  // namespace augur
