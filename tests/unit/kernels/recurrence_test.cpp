#include "kernels/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "kernels/ops.h"

namespace augur {
namespace {

std::vector<float> normals(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

enum class Rule { Delta, Mamba };

/// One token on a state of so many columns.
struct Token {
  static constexpr std::int64_t kKeys = 24;
  static constexpr float kAlpha = 0.7f, kBeta = 0.4f, kSkip = 1.5f;

  explicit Token(std::int64_t n, Rule of = Rule::Delta)
      : rule(of),
        columns(n),
        before(normals(kKeys * n, 1)),
        state(before),
        q(normals(kKeys, 2)),
        k(normals(kKeys, 3)),
        v(normals(n, 4)),
        d(v.size()),
        out(v.size()) {}
  void run() { run(state.data(), columns, v.data(), d.data(), out.data()); }
  /// On `n` columns.
  void run(float* s, std::int64_t n, const float* values, float* d_out, float* o) const {
    if (rule == Rule::Mamba) {
      mamba_token(s, kKeys, n, q.data(), k.data(), values, kAlpha, kBeta, kSkip, d_out, o);
    } else {
      delta_token(s, kKeys, n, q.data(), k.data(), values, kAlpha, kBeta, d_out, o);
    }
  }
  float& at(std::vector<float>& of, std::int64_t i, std::int64_t j) const {
    return of[static_cast<std::size_t>(i * columns + j)];
  }

  Rule rule;
  std::int64_t columns;
  std::vector<float> before, state, q, k, v, d, out;
};

const std::vector<std::int64_t> kColumns = {1, 3, 8, 16, 31, 64, 70, 128};

TEST(Recurrence, ADeltaTokenIsWhatTheFormulasSay) {
  for (const std::int64_t n : kColumns) {
    Token token(n);
    token.run();
    for (std::int64_t j = 0; j < n; ++j) {
      double m = 0, o = 0;
      for (std::int64_t i = 0; i < Token::kKeys; ++i)
        m += static_cast<double>(Token::kAlpha) * token.at(token.before, i, j) *
             token.k[static_cast<std::size_t>(i)];
      const double d = Token::kBeta * (token.v[static_cast<std::size_t>(j)] - m);
      EXPECT_NEAR(token.d[static_cast<std::size_t>(j)], d, 1e-5);
      for (std::int64_t i = 0; i < Token::kKeys; ++i) {
        const double s = static_cast<double>(Token::kAlpha) * token.at(token.before, i, j) +
                         token.k[static_cast<std::size_t>(i)] * d;
        EXPECT_NEAR(token.at(token.state, i, j), s, 1e-5);
        o += s * token.q[static_cast<std::size_t>(i)];
      }
      EXPECT_NEAR(token.out[static_cast<std::size_t>(j)], o, 1e-4);
    }
  }
}

TEST(Recurrence, AMambaTokenIsWhatTheFormulasSay) {
  for (const std::int64_t n : kColumns) {
    Token token(n, Rule::Mamba);
    token.run();
    for (std::int64_t j = 0; j < n; ++j) {
      const double v = token.v[static_cast<std::size_t>(j)];
      EXPECT_NEAR(token.d[static_cast<std::size_t>(j)], Token::kBeta * v, 1e-6);
      double o = Token::kSkip * v;
      for (std::int64_t i = 0; i < Token::kKeys; ++i) {
        const double s = static_cast<double>(Token::kAlpha) * token.at(token.before, i, j) +
                         token.k[static_cast<std::size_t>(i)] * Token::kBeta * v;
        EXPECT_NEAR(token.at(token.state, i, j), s, 1e-5);
        o += s * token.q[static_cast<std::size_t>(i)];
      }
      EXPECT_NEAR(token.out[static_cast<std::size_t>(j)], o, 1e-4);
    }
  }
}

constexpr Rule kRules[] = {Rule::Delta, Rule::Mamba};

TEST(Recurrence, AReplayHasTheTokensBits) {
  for (const Rule rule : kRules) {
    for (const std::int64_t n : kColumns) {
      Token token(n, rule);
      token.run();
      std::vector<float> again = token.before;
      replay_state(again.data(), Token::kKeys, n, token.k.data(), token.d.data(), Token::kAlpha);
      EXPECT_EQ(again, token.state) << n;
    }
  }
}

TEST(Recurrence, ColumnsDoNotMeetAndVectorsDoNotCount) {
  for (const Isa isa : supported_isas()) {
    for (const Rule rule : kRules) {
      limit_ops_to(isa);
      Token whole(70, rule);
      whole.run();
      limit_ops_to(Isa::Portable);
      for (std::int64_t j = 0; j < whole.columns; ++j) {
        std::vector<float> column;
        for (std::int64_t i = 0; i < Token::kKeys; ++i) column.push_back(whole.at(whole.before, i, j));
        float d = 0, out = 0;
        const auto index = static_cast<std::size_t>(j);
        whole.run(column.data(), 1, &whole.v[index], &d, &out);
        ASSERT_EQ(d, whole.d[index]) << name(isa);
        ASSERT_EQ(out, whole.out[index]) << name(isa);
        for (std::int64_t i = 0; i < Token::kKeys; ++i)
          ASSERT_EQ(column[static_cast<std::size_t>(i)], whole.at(whole.state, i, j)) << name(isa);
      }
    }
  }
  limit_ops_to(supported_isas().back());
}

TEST(Recurrence, UnitRowsHaveTheLengthThatIsAsked) {
  for (const std::int64_t n : {1, 16, 37, 128}) {
    std::vector<float> row = normals(n, 5);
    const std::vector<float> x = row;
    unit_row(row.data(), n, 1e-6f, 0.5f, row.data());
    double squares = 0, along = 0, length = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      squares += static_cast<double>(row[i]) * row[i];
      along += static_cast<double>(row[i]) * x[i];
      length += static_cast<double>(x[i]) * x[i];
    }
    EXPECT_NEAR(std::sqrt(squares), 0.5 * std::sqrt(length / (length + 1e-6)), 1e-6);
    EXPECT_NEAR(along, std::sqrt(squares * length), 1e-5) << "and the direction of x";
  }
}

}  // namespace
}  // namespace augur
