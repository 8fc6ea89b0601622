#pragma once
// Row operations, and what is drawn from their results.
#include <cmath>
#include <limits>
#include <optional>

#include "base/circular.h"
#include "base/elementary.h"
#include "kernels/ops.h"
#include "kernels/recurrence.h"
#include "law_vectors.h"
#include "sampling/gumbel.h"

namespace augur::law {

/// Calls write(form, out) for an output of n elements.
template <class Write>
Words output(InputForm form, std::int64_t n, const Write& write) {
  Words words;
  if (form == InputForm::F32) {
    std::vector<float> out(static_cast<std::size_t>(n));
    write(form, out.data());
    words.add(out);
  } else if (form == InputForm::BF16) {
    std::vector<BF16> out(static_cast<std::size_t>(n));
    write(form, out.data());
    words.add(out);
  } else {
    const auto blocks = static_cast<std::size_t>((n + 31) / 32);
    const std::size_t whole =
        form == InputForm::Blocks16 ? static_cast<std::size_t>(activation_stride(n) / 32) : 0;
    std::vector<QuantBlock> out(whole + blocks);
    write(form, out.data());
    for (std::size_t b = 0; b < blocks; ++b) words.add(out[b]);
    for (std::size_t b = whole; whole > 0 && b < out.size(); ++b) words.add(out[b]);
  }
  return words;
}

/// Operations of one row to one, for their inputs: as usual, at the edges, and so near zero that their
/// results are subnormal.
struct RowInput {
  std::string_view name;
  std::int64_t n;
  std::vector<float> (*make)(Inputs&, std::int64_t);
};
inline constexpr RowInput kRowInputs[] = {
    {"one element", 1, [](Inputs& in, std::int64_t n) { return in.values(n); }},
    {"an odd number", 37, [](Inputs& in, std::int64_t n) { return in.values(n); }},
    {"edges", 96, [](Inputs& in, std::int64_t n) { return in.edges(n); }},
    {"wide", 64, [](Inputs& in, std::int64_t n) { return in.values(n, 0); }},
    {"tiny", 40, [](Inputs& in, std::int64_t n) { return in.values(n, -126); }},
};

class RowCases {
 public:
  std::vector<Case> cases;

  /// `apply(in, x)` for every input.
  template <class Apply>
  void add(std::string_view operation, const Apply& apply) {
    for (const RowInput& input : kRowInputs) {
      cases.push_back(
          {fmt::format("{}: {}", operation, input.name), [apply, input](const Machine&, Inputs in) {
             const std::vector<float> x = input.make(in, input.n);
             return apply(in, x);
           }});
    }
  }
  template <class Compute>
  void add_one(std::string name, const Compute& compute) {
    cases.push_back({std::move(name), [compute](const Machine&, Inputs in) { return compute(in); }});
  }
};

inline void add_norms_and_activations(RowCases& to) {
  for (const InputForm form : {InputForm::F32, InputForm::BF16, InputForm::Blocks8, InputForm::Blocks16}) {
    to.add(fmt::format("rms_norm to {}", name(form)), [form](Inputs& in, const std::vector<float>& x) {
      const std::vector<float> weight = in.values(std::ssize(x));
      return output(form, std::ssize(x), [&](InputForm out_form, void* out) {
        rms_norm(x.data(), weight.data(), 1e-5f, std::ssize(x), out_form, out);
      });
    });
    to.add(fmt::format("convert_row to {}", name(form)), [form](Inputs&, const std::vector<float>& x) {
      return output(form, std::ssize(x), [&](InputForm out_form, void* out) {
        convert_row(x.data(), std::ssize(x), out_form, out);
      });
    });
  }
  for (const InputForm form : {InputForm::F32, InputForm::BF16, InputForm::Blocks8}) {
    to.add(fmt::format("silu_mul to {}", name(form)), [form](Inputs& in, const std::vector<float>& x) {
      const std::vector<float> up = in.values(std::ssize(x));
      return output(form, std::ssize(x), [&](InputForm out_form, void* out) {
        silu_mul(x.data(), up.data(), std::ssize(x), out_form, out);
      });
    });
  }
  for (const InputForm form : {InputForm::F32, InputForm::BF16, InputForm::Blocks8}) {
    to.add(fmt::format("squared_relu to {}", name(form)), [form](Inputs&, const std::vector<float>& x) {
      return output(form, std::ssize(x), [&](InputForm out_form, void* out) {
        squared_relu(x.data(), std::ssize(x), out_form, out);
      });
    });
  }
  using Panels = void (*)(const float*, std::int64_t, InputForm, void*);
  const std::pair<std::string_view, Panels> panels[] = {{"silu_mul_panels", silu_mul_panels},
                                                        {"gelu_mul_panels", gelu_mul_panels},
                                                        {"clamped_swiglu_panels", clamped_swiglu_panels}};
  for (const auto& [operation, apply] : panels) {
    to.add(std::string(operation), [apply = apply](Inputs& in, const std::vector<float>& x) {
      const std::int64_t pairs = (std::ssize(x) + 15) / 16;
      std::vector<float> gate_up = in.values(32 * pairs);
      for (std::size_t i = 0; i < x.size(); ++i) gate_up[i / 16 * 32 + i % 16] = x[i];
      return output(InputForm::F32, 16 * pairs,
                    [&](InputForm form, void* out) { apply(gate_up.data(), pairs, form, out); });
    });
  }
}

inline void add_rows(RowCases& to) {
  using Row = std::vector<float>;
  const auto changed = [](Row row, auto change) {
    change(row);
    Words words;
    words.add(row);
    return words;
  };
  to.add("add_row", [changed](Inputs& in, const Row& x) {
    return changed(in.values(std::ssize(x)), [&](Row& y) { add_row(y.data(), x.data(), std::ssize(x)); });
  });
  to.add("add_scaled_row", [changed](Inputs& in, const Row& x) {
    return changed(in.values(std::ssize(x), -20),
                   [&](Row& y) { add_scaled_row(y.data(), x.data(), 0.3f, std::ssize(x)); });
  });
  to.add("scale_row", [changed](Inputs&, const Row& x) {
    return changed(x, [&](Row& y) { scale_row(y.data(), 0.7f, std::ssize(y)); });
  });
  to.add("cap_row", [changed](Inputs&, const Row& x) {
    return changed(x, [&](Row& y) { cap_row(y.data(), 30.0f, std::ssize(y)); });
  });
  to.add("rope_rotate", [changed](Inputs& in, Row x) {
    if (x.size() % 2 != 0) x.push_back(1.0f);
    const auto half = static_cast<std::size_t>(std::ssize(x) / 2);
    Row cos(half), sin(half);
    for (std::size_t i = 0; i < half; ++i) {
      const Circular at = circular(static_cast<double>(in.value(2)));
      cos[i] = static_cast<float>(at.cos);
      sin[i] = static_cast<float>(at.sin);
    }
    return changed(x, [&](Row& y) { rope_rotate(y.data(), cos.data(), sin.data(), std::ssize(y)); });
  });
  to.add("mul_row", [](Inputs& in, const Row& x) {
    const Row other = in.values(std::ssize(x));
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      mul_row(x.data(), other.data(), std::ssize(x), static_cast<float*>(out));
    });
  });
  for (const InputForm form : {InputForm::F32, InputForm::BF16}) {
    for (const bool whole : {true, false}) {  // without a bias, and the oldest token
      to.add(fmt::format("convolve_row to {}{}", name(form), whole ? "" : ", the beginning of a text"),
             [form, whole](Inputs& in, const Row& x) {
               const std::int64_t n = std::ssize(x);
               const Row taps = in.values(3 * n), before = in.values(n), oldest = in.values(n);
               const Row bias = in.values(n), gate = in.values(n);
               const float* const rows[] = {whole ? oldest.data() : nullptr, before.data(), x.data()};
               return output(form, n, [&](InputForm out_form, void* out) {
                 convolve_row(rows, taps.data(), n, whole ? bias.data() : nullptr, gate.data(), n, out_form,
                              out);
               });
             });
    }
  }
  to.add("convolve_row without a gate", [](Inputs& in, const Row& x) {
    const std::int64_t n = std::ssize(x);
    const Row taps = in.values(2 * n), before = in.values(n);
    const float* const rows[] = {before.data(), x.data()};
    return output(InputForm::F32, n, [&](InputForm form, void* out) {
      convolve_row(rows, taps.data(), n, nullptr, nullptr, n, form, out);
    });
  });
  for (const InputForm form : {InputForm::F32, InputForm::BF16}) {
    to.add(fmt::format("sigmoid_mul to {}", name(form)), [form](Inputs& in, const Row& x) {
      const Row gate = in.values(std::ssize(x));
      return output(form, std::ssize(x), [&](InputForm out_form, void* out) {
        sigmoid_mul(gate.data(), x.data(), std::ssize(x), out_form, out);
      });
    });
  }
  to.add("sigmoid_row", [](Inputs&, const Row& x) {
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      sigmoid_row(x.data(), std::ssize(x), static_cast<float*>(out));
    });
  });
  to.add("softplus_row", [](Inputs& in, const Row& x) {
    const Row bias = in.values(std::ssize(x), -1);
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      softplus_row(x.data(), bias.data(), std::ssize(x), static_cast<float*>(out));
    });
  });
  to.add("decay_row", [](Inputs& in, const Row& x) {
    Row rates = in.values(std::ssize(x));
    for (float& rate : rates) rate = -std::abs(rate);
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      decay_row(x.data(), rates.data(), std::ssize(x), static_cast<float*>(out));
    });
  });
  to.add("unit_row", [](Inputs&, const Row& x) {
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      unit_row(x.data(), std::ssize(x), 1e-6f, 0.25f, static_cast<float*>(out));
    });
  });
  to.add("a token of a delta rule", [](Inputs& in, const Row& x) {
    constexpr std::int64_t kKeys = 5;
    const std::int64_t n = std::ssize(x);
    Row state = in.values(kKeys * n), d(x.size()), out(x.size());
    const Row q = in.values(kKeys), k = in.values(kKeys);
    delta_token(state.data(), kKeys, n, q.data(), k.data(), x.data(), 0.8125f, 0.375f, d.data(), out.data());
    Words words;
    for (const Row* row : {&state, &d, &out}) words.add(*row);
    return words;
  });
  to.add("a token of Mamba2", [](Inputs& in, const Row& x) {
    constexpr std::int64_t kKeys = 5;
    const std::int64_t n = std::ssize(x);
    Row state = in.values(kKeys * n), d(x.size()), out(x.size());
    const Row q = in.values(kKeys), k = in.values(kKeys);
    mamba_token(state.data(), kKeys, n, q.data(), k.data(), x.data(), 0.8125f, 0.375f, 1.75f, d.data(),
                out.data());
    Words words;
    for (const Row* row : {&state, &d, &out}) words.add(*row);
    return words;
  });
  to.add("exp_row", [](Inputs&, const Row& x) {
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      exp_row(x.data(), std::ssize(x), 0.25f, 0.75f, static_cast<float*>(out));
    });
  });
  to.add("sums and maxima", [](Inputs&, const Row& x) {
    Words words;
    words.add(sum_exp(x.data(), std::ssize(x), 3.0f, 0.5f));
    words.add(log_sum_exp(x.data(), std::ssize(x)));
    words.add(argmax(x.data(), std::ssize(x)));
    words.add(first_invalid_logit(x.data(), std::ssize(x)));
    return words;
  });
  to.add("softmax", [](Inputs&, const Row& x) {
    return output(InputForm::F32, std::ssize(x), [&](InputForm, void* out) {
      softmax(x.data(), std::ssize(x), 0.8f, static_cast<float*>(out));
    });
  });
}

/// Rows with many equal elements and some that are no numbers.
inline void add_selections(RowCases& to) {
  for (const int k : {1, 7, 40}) {
    to.add_one(fmt::format("top_k: ties, k {}", k), [k](Inputs in) {
      std::vector<float> x(300);
      for (float& v : x) v = static_cast<float>(in.word() % 12) - 6.0f;
      x[17] = -0.0f;
      x[50] = x[51] = float_of(kNoNumbers[2]);
      x[60] = float_of(kNoNumbers[1]);
      x[70] = 4e-40f;
      std::vector<std::int32_t> indices(static_cast<std::size_t>(k));
      std::vector<float> values(static_cast<std::size_t>(k));
      top_k(x, k, indices.data(), values.data());
      Words words;
      words.add(indices);
      words.add(values);
      words.add(argmax(x.data(), std::ssize(x)));
      words.add(first_invalid_logit(x.data(), std::ssize(x)));
      std::vector<std::int32_t> at_least;
      collect_at_least(x, 5.0f, at_least);
      words.add(at_least);
      TopKScratch scratch;
      x[50] = x[51] = 0.0f;
      words.add(top_entropy(x, k, scratch));
      return words;
    });
  }
}

inline void add_noise_and_functions(RowCases& to) {
  to.add_one("philox4x32 and uniform_open", [](Inputs in) {
    Words words;
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t word = in.word();
      words.add(word);
      words.add(uniform_open(word));
    }
    words.add(uniform_open(0));
    words.add(uniform_open(0xffffffffu));
    return words;
  });
  struct Place {
    std::uint64_t seed;
    std::int64_t position;
    TokenId first;
  };
  for (const Place& at : {Place{0, 0, 0},
                          {1234567890123456789u, 77, 128},
                          {0xffffffffffffffffu, std::int64_t{1} << 33, 151936}}) {
    to.add_one(fmt::format("gumbel_range: seed {}, position {}", at.seed, at.position), [at](Inputs) {
      std::vector<float> out(70);
      gumbel_range(at.seed, at.position, at.first, out);
      Words words;
      words.add(out);
      return words;
    });
  }
  to.add_one("gumbel_at, argmax_with_noise, add_noise", [](Inputs in) {
    Words words;
    std::vector<TokenId> tokens;
    for (int i = 0; i < 9; ++i) tokens.push_back(static_cast<TokenId>(in.word() % 200000));
    std::vector<float> noise(tokens.size());
    gumbel_at(99, 5, tokens, noise.data());
    words.add(noise);
    std::vector<float> x = in.edges(50);
    std::vector<float> all(x.size());
    gumbel_row(99, 6, all);
    std::vector<float> out(x.size());
    add_noise(x, -1.0f, 1.25f, all.data(), out.data());
    words.add(out);
    for (float& v : x) v = static_cast<float>(in.word() % 3);
    words.add(argmax_with_noise(x, 1.0f, 1.25f, all.data()));
    return words;
  });
  to.add_one("elementary and circular functions", [](Inputs in) {
    Words words;
    for (int i = 0; i < 12; ++i) {
      const auto x = static_cast<double>(in.value(-3));
      words.add(elementary::exp(x));
      words.add(elementary::log(std::abs(x)));
      words.add(elementary::pow(std::abs(x), 1.7));
      words.add(elementary::tanh(x));
      const Circular at = circular(1000 * x);
      words.add(at.cos);
      words.add(at.sin);
    }
    return words;
  });
}

inline std::vector<Case> row_cases() {
  RowCases to;
  add_norms_and_activations(to);
  add_rows(to);
  add_selections(to);
  add_noise_and_functions(to);
  return to.cases;
}

}  // namespace augur::law
