#include "server/page.h"

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "support/server_fixture.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::ServiceTest;

TEST_F(ServiceTest, ServesEveryFileOfThePageBeforeTheModelIsLoaded) {
  httplib::Client client("127.0.0.1", server_.port());
  for (const PageFile& file : page_files()) {
    SCOPED_TRACE(file.path);
    const httplib::Result got = client.Get(std::string(file.path));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(got->body, file.content);
    EXPECT_FALSE(got->body.empty());
    EXPECT_EQ(got->get_header_value("Content-Type"), file.type);
    EXPECT_EQ(got->get_header_value("Cache-Control"), "no-cache");
    EXPECT_THAT(
        got->get_header_value("Content-Security-Policy"),
        AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'"), Not(HasSubstr("unsafe"))));
    const httplib::Result head = client.Head(std::string(file.path));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    EXPECT_TRUE(head->body.empty());
  }
  const httplib::Result posted = client.Post("/", "x", "text/plain");
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->status, 405);
}

/// Of the page's own files: what libraries do is tried in a browser (tests/operation/test_page_markdown.py).
TEST(Page, NamesNoOtherHostAndPutsInNoHtml) {
  const std::regex host("https?://[a-z0-9.]+");
  for (const PageFile& file : page_files()) {
    if (file.of_library) continue;
    SCOPED_TRACE(file.path);
    std::set<std::string> hosts;
    const std::string content(file.content);
    for (auto i = std::sregex_iterator(content.begin(), content.end(), host); i != std::sregex_iterator();
         ++i) {
      hosts.insert(i->str());
    }
    hosts.erase("http://www.w3.org");  // a name of SVG's, which nothing loads
    EXPECT_THAT(hosts, testing::IsEmpty());
    for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
      EXPECT_THAT(content, Not(HasSubstr(way)));
    }
  }
}

TEST(Page, HasTheFilesThatItNames) {
  std::set<std::string> files;
  for (const PageFile& file : page_files()) files.emplace(file.path);
  const std::regex link("(?:href|src)=\"(/[^\"]*)\"");
  const std::string page(page_files().front().content);
  int links = 0;
  for (auto i = std::sregex_iterator(page.begin(), page.end(), link); i != std::sregex_iterator(); ++i) {
    EXPECT_TRUE(files.contains((*i)[1].str())) << (*i)[1];
    ++links;
  }
  EXPECT_GE(links, 6);
}

/// A page opens without a key, what it shows does not.
TEST(Page, OpensWithoutTheKey) {
  Service service({.model = "m", .api_keys = {"secret"}, .speculation = {}});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Get("/")->status, 200);
  EXPECT_EQ(client.Get("/load")->status, 401);
}

}  // namespace
}  // namespace augur
