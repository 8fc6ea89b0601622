#include "server/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "io/unicode.h"

namespace augur {
namespace {

using testing::HasSubstr;

std::string metrics_of(const std::string& model, const std::string& drafter = "draft") {
  ServerMetrics metrics(model);
  Result result;
  result.speculation.type = drafter;
  result.speculation.calls = 1;
  metrics.ended(result, 1);
  metrics.count_refusal(400);
  return metrics.text({.memory = 64, .page_tokens = 64, .page_bytes = 1});
}

/// Files may have any names, and Prometheus takes UTF-8 alone.
TEST(ServerMetrics, LabelsAreUtf8WhateverAModelIsCalled) {
  for (const char* name :
       {"caf\xe9", "\xff\xfe", "half \xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc1\x81"}) {
    for (const std::string& text : {metrics_of(name), metrics_of("model", name)}) {
      EXPECT_EQ(valid_utf8_prefix(text), text.size()) << text.substr(valid_utf8_prefix(text), 100);
      EXPECT_THAT(text, HasSubstr("\xef\xbf\xbd")) << "what is no character is one that says so";
    }
  }
  EXPECT_THAT(metrics_of("caf\xc3\xa9"), HasSubstr("model_name=\"caf\xc3\xa9\""));
}

/// A name cannot end its label, or the line.
TEST(ServerMetrics, LabelsAreQuoted) {
  EXPECT_THAT(metrics_of("a\"} 1\nevil{x=\"\\"), HasSubstr(R"(model_name="a\"} 1\nevil{x=\"\\")"));
}

}  // namespace
}  // namespace augur
