// The status and headers that an error of each kind is answered with.
#include "server/problem.h"

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "augur/error.h"

namespace augur {
namespace {

Problem problem(const std::exception_ptr& thrown) {
  return problem_of(thrown);
}

Problem of_kind(ErrorKind kind, const std::string& field = {}) {
  return problem(std::make_exception_ptr(Error({kind, field}, "said")));
}

bool asks_again(const Problem& problem) {
  return problem.headers() == HttpHeaders{{"Retry-After", "1"}};
}

TEST(ProblemOf, WhatTheClientCanMend) {
  for (const ErrorKind kind : {ErrorKind::NotFound, ErrorKind::Malformed, ErrorKind::Unsupported,
                               ErrorKind::ContextFull, ErrorKind::RefusedField}) {
    const Problem of_field = of_kind(kind, "schema");
    EXPECT_EQ(of_field.status(), 400);
    EXPECT_EQ(of_field.field(), "schema");
    EXPECT_STREQ(of_field.what(), "said");
    EXPECT_TRUE(of_field.headers().empty());
    EXPECT_EQ(of_kind(kind).status(), 500) << "of the server's own files";
  }
}

TEST(ProblemOf, WhatALaterTryMends) {
  EXPECT_EQ(of_kind(ErrorKind::OutOfMemory, "grammar").status(), 503);
  EXPECT_EQ(of_kind(ErrorKind::OutOfMemory, "grammar").field(), "") << "no field is to blame";
  EXPECT_TRUE(asks_again(of_kind(ErrorKind::OutOfMemory)));
  EXPECT_EQ(problem(std::make_exception_ptr(std::bad_alloc())).status(), 503);
  EXPECT_EQ(of_kind(ErrorKind::QueueFull).status(), 429);
  EXPECT_TRUE(asks_again(of_kind(ErrorKind::QueueFull)));
}

TEST(ProblemOf, WhatNobodyCanMend) {
  EXPECT_EQ(of_kind(ErrorKind::Cancelled).status(), 504);
  EXPECT_EQ(of_kind(ErrorKind::Misuse).status(), 500);
  EXPECT_EQ(of_kind(ErrorKind::Internal, "field").status(), 500);
  EXPECT_EQ(problem(std::make_exception_ptr(std::runtime_error("said"))).status(), 500);
  EXPECT_STREQ(problem(std::make_exception_ptr(std::runtime_error("said"))).what(), "said");
}

TEST(ProblemOf, AProblemStaysAsItIs) {
  EXPECT_EQ(problem(std::make_exception_ptr(Problem(418, "tea", "pot"))).status(), 418);
}

}  // namespace
}  // namespace augur
