#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/temporary_folder.h"

namespace augur::testing_support {

/// A folder in place of /, with the files under proc and sys that a process sees.
class FakeSystem {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }

  FakeSystem& file(std::string_view path, std::string_view text) {
    const std::filesystem::path at = root() / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
    return *this;
  }
  /// A mounted hierarchy of control groups: `options` are the controllers of version 1; empty: version 2.
  FakeSystem& mount(const std::string& group, const std::string& folder, const std::string& options = "") {
    mounts_ += "31 23 0:28 " + group + " /" + folder + " rw,relatime shared:9 - " +
               (options.empty() ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw," + options) + "\n";
    return file("proc/self/mountinfo", "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts_);
  }

 private:
  TemporaryFolder folder_;
  std::string mounts_;
};

}  // namespace augur::testing_support
