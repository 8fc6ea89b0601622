#include "files/part_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

TEST(PartLocation, IsTheDraftersFolderOrOneBesideItsFile) {
  const testing_support::TemporaryFolder folder;
  std::ofstream(folder.path() / "draft.Q4_0.gguf") << "x";
  EXPECT_EQ(parts_folder(folder.path()), folder.path());
  EXPECT_EQ(parts_folder(folder.path() / "draft.Q4_0.gguf"), folder.path() / "draft.Q4_0");
  EXPECT_EQ(parts_folder(""), "");

  EXPECT_EQ(find_part(folder.path(), "c2t"), "");
  EXPECT_EQ(find_part("", "c2t"), "");
  std::filesystem::create_directory(folder.path() / "c2t");
  EXPECT_EQ(find_part(folder.path(), "c2t"), "") << "an empty folder is no part";
  EXPECT_THAT(error_of([&] { require_part(folder.path(), "c2t", "policy c2t", "c2t:model=FOLDER"); }),
              AllOf(HasSubstr("policy c2t: "), HasSubstr((folder.path() / "c2t").string()),
                    HasSubstr("augur train c2t"), HasSubstr("c2t:model=FOLDER")));
  EXPECT_THAT(error_of([&] { require_part("", "c2t", "policy c2t", "c2t:model=FOLDER"); }),
              AllOf(HasSubstr("draft model"), HasSubstr("none was given"), HasSubstr("c2t:model=FOLDER")));
  std::ofstream(folder.path() / "c2t" / "config.json") << "{}";
  EXPECT_EQ(find_part(folder.path(), "c2t"), folder.path() / "c2t");
  EXPECT_EQ(require_part(folder.path(), "c2t", "", ""), folder.path() / "c2t");
}

}  // namespace
}  // namespace augur
