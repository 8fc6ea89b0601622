#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "augur/session.h"

namespace augur {

/// The folder in which clients save texts: one folder for each owner, which names cannot lead out of.
/// Thread-safe.
class SavedTexts {
 public:
  /// `folder` empty: none are saved. `most_bytes`: of all files together.
  SavedTexts(std::filesystem::path folder, std::int64_t most_bytes);

  /// Throws a Problem (501) where none are saved.
  void check_enabled() const;
  /// The path of an owner's file. BadRequest for a name that cannot be, and for one
  /// that is a link or no file.
  std::string path_of(const TextOwner& owner, const std::string& name) const;
  /// For the owner's files only. Where it cannot be made they cannot be written, which says so.
  void make_folder(const TextOwner& owner) const;
  /// Throws a Problem (507) where the files take as much as they may.
  void check_room() const;
  /// Whether they take more.
  bool is_too_full() const;

 private:
  std::int64_t bytes() const;

  std::filesystem::path folder_;
  std::int64_t most_bytes_;
};

}  // namespace augur
