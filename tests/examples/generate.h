#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"

namespace augur::test {

/// `augur generate` of 120 tokens by the stories model, with more arguments.
inline Outcome run_stories(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"generate", "-m",           stories260k(), "-t",    "2",     "-n",
                                        "120",      "--ignore-eos", "-p",          "There", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_augur(arguments);
}

/// What it says of it, where it succeeds.
inline nlohmann::json generate_stories(const std::vector<std::string>& more) {
  const Outcome outcome = run_stories(more);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

}  // namespace augur::test
