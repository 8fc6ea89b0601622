#include "text_outputs.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "without_gil.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

using Row = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
using Rows = nb::ndarray<nb::numpy, float, nb::ndim<2>>;

/// An array of this shape that owns the values.
template <class Array, class... Sizes>
Array array_of(std::vector<float> values, Sizes... sizes) {
  auto kept = std::make_unique<std::vector<float>>(std::move(values));
  float* const data = kept->data();
  const nb::capsule owner(kept.get(), [](void* of) noexcept { delete static_cast<std::vector<float>*>(of); });
  static_cast<void>(kept.release());
  return Array(data, {static_cast<std::size_t>(sizes)...}, owner);
}

/// Lets the engine compute on a thread of its own, so that signals are seen meanwhile: what they raise ends
/// the call at the next pass.
template <class Call>
auto interruptible(SharedEngine& shared, Call call) {
  constexpr std::chrono::milliseconds kSignals(50);
  std::atomic<bool> cancel = false;
  auto made = std::async(std::launch::async,
                         [&] { return shared.alone([&](Engine& engine) { return call(engine, &cancel); }); });
  while (true) {
    {
      const WithoutGil others_run;
      if (made.wait_for(kSignals) == std::future_status::ready) break;
    }
    try {
      raise_signals();
    } catch (...) {
      const nb::gil_scoped_release others_run;
      cancel = true;
      made.wait();
      throw;
    }
  }
  return made.get();
}

Rows logits(SharedEngine& shared, const std::vector<TokenId>& tokens) {
  std::vector<float> rows = interruptible(
      shared, [&](Engine& engine, const auto* cancel) { return engine.logits(tokens, cancel); });
  return array_of<Rows>(std::move(rows), tokens.size(), shared.engine()->info().vocab);
}

Rows hidden_states(SharedEngine& shared, const std::vector<TokenId>& tokens, int layer) {
  std::vector<float> states = interruptible(shared, [&](Engine& engine, const auto* cancel) {
    return engine.hidden_states(tokens, layer, cancel);
  });
  return array_of<Rows>(std::move(states), tokens.size(), shared.engine()->info().hidden);
}

Row embed(SharedEngine& shared, const std::vector<TokenId>& tokens, bool mean, bool normalised) {
  std::vector<float> vector = interruptible(shared, [&](Engine& engine, const auto* cancel) {
    return engine.embed(
        tokens,
        {.pooling = mean ? Pooling::Mean : Pooling::Last, .normalised = normalised, .cancel = cancel});
  });
  const std::size_t size = vector.size();
  return array_of<Row>(std::move(vector), size);
}

std::vector<TextScore> score(SharedEngine& shared,
                             const std::vector<std::pair<std::vector<TokenId>, std::int64_t>>& given) {
  std::vector<ScoredText> texts;
  texts.reserve(given.size());
  for (const auto& [tokens, from] : given) texts.push_back({tokens, from});
  return interruptible(shared, [&](Engine& engine, const auto* cancel) {
    std::vector<TextScore> scores(texts.size());
    engine.score_many(
        texts, [&](std::size_t index, TextScore made) { scores[index] = std::move(made); }, cancel);
    return scores;
  });
}

}  // namespace

void bind_text_outputs(nb::module_& module, nb::class_<SharedEngine>& engine) {
  nb::class_<TextScore>(module, "TextScore")
      .def_prop_ro(
          "logprobs",
          [](const TextScore& score) { return array_of<Row>(score.logprobs, score.logprobs.size()); },
          nb::rv_policy::automatic)
      .def_ro("sum", &TextScore::sum)
      .def_ro("greedy", &TextScore::greedy);
  engine.def("logits", &logits, nb::arg("tokens"))
      .def("hidden_states", &hidden_states, nb::arg("tokens"), nb::arg("layer"))
      .def("embed", &embed, nb::arg("tokens"), nb::kw_only(), nb::arg("mean"), nb::arg("normalised"))
      .def("score", &score, nb::arg("texts"), "Of pairs of tokens and the first that is scored.");
}

}  // namespace augur::python
