// What the model makes of given texts.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/augur.h"
#include "augur/engine.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/numbered.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

/// A flag that stays for the call; null for none.
std::shared_ptr<std::atomic<bool>> flag_of(const augur_cancel_token* cancel) {
  return cancel == nullptr ? nullptr : held(cancel);
}

/// Writes what there is room for.
void copy(std::span<const float> from, float* to, std::size_t capacity) {
  std::copy_n(from.begin(), std::min(from.size(), capacity), to);
}

augur_text_score given(const augur::TextScore& score, const float* logprobs, std::size_t count) {
  return {.size = sizeof(augur_text_score),
          .logprobs = logprobs,
          .logprob_count = count,
          .sum = score.sum,
          .greedy = score.greedy};
}

}  // namespace

int64_t augur_logits(augur_engine* engine, const int32_t* tokens, size_t count, float* logits,
                     size_t capacity, augur_cancel_token* cancel) {
  return number([&] {
    const auto used = held(engine);
    const auto text = array("tokens", tokens, count);
    const std::span<float> room = array("logits", logits, capacity);
    const auto vocab = static_cast<std::size_t>(used->info().vocab);
    if (capacity > 0) {
      const auto flag = flag_of(cancel);
      const auto write = [&](std::int64_t first, std::span<const float> rows) {
        const std::size_t at = std::min(static_cast<std::size_t>(first) * vocab, room.size());
        copy(rows, room.data() + at, room.size() - at);
      };
      used->logits(text, write, flag.get());
    }
    return count * vocab;
  });
}

int32_t augur_logits_in_parts(augur_engine* engine, const int32_t* tokens, size_t count,
                              augur_logits_callback on_rows, void* user, augur_cancel_token* cancel) {
  return status([&] {
    const auto used = held(engine);
    if (on_rows == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "on_rows is NULL");
    const auto vocab = static_cast<std::size_t>(used->info().vocab);
    const auto flag = flag_of(cancel);
    const auto give_rows = [&](std::int64_t first, std::span<const float> rows) {
      on_rows(first, rows.data(), rows.size() / vocab, vocab, user);
    };
    used->logits(array("tokens", tokens, count), give_rows, flag.get());
  });
}

int64_t augur_hidden_states(augur_engine* engine, const int32_t* tokens, size_t count, int32_t layer,
                            float* states, size_t capacity, augur_cancel_token* cancel) {
  return number([&] {
    const auto used = held(engine);
    const auto text = array("tokens", tokens, count);
    check_array("states", states, capacity);
    if (capacity > 0) {
      const auto flag = flag_of(cancel);
      copy(used->hidden_states(text, layer, flag.get()), states, capacity);
    }
    return count * static_cast<std::size_t>(used->info().hidden);
  });
}

void augur_embed_options_init(augur_embed_options* options, size_t size) {
  augur_embed_options out{};
  out.normalised = 1;
  write_defaults(out, options, size);
}

int64_t augur_embed(augur_engine* engine, const int32_t* tokens, size_t count,
                    const augur_embed_options* options, float* vector, size_t capacity) {
  return number([&] {
    const auto used = held(engine);
    const auto text = array("tokens", tokens, count);
    check_array("vector", vector, capacity);
    const augur_embed_options defaults = augur_embed_options_default();
    const augur_embed_options from =
        options == nullptr ? defaults : complete(options, defaults, "augur_embed_options");
    const auto flag = flag_of(from.cancel);
    const augur::EmbedOptions how = {.pooling = numbered("pooling", from.pooling, augur::Pooling::Mean),
                                     .normalised = from.normalised != 0,
                                     .cancel = flag.get()};
    if (capacity > 0) copy(used->embed(text, how), vector, capacity);
    return used->info().hidden;
  });
}

int64_t augur_score(augur_engine* engine, const int32_t* tokens, size_t count, int64_t from, float* logprobs,
                    size_t capacity, augur_text_score* score, augur_cancel_token* cancel) {
  return number([&] {
    const auto used = held(engine);
    const auto text = array("tokens", tokens, count);
    check_array("logprobs", logprobs, capacity);
    const auto length = static_cast<std::int64_t>(count);
    if (capacity == 0 && score == nullptr) return length - std::clamp(from, std::int64_t{0}, length);
    const auto flag = flag_of(cancel);
    const augur::TextScore found = used->score(text, from, flag.get());
    copy(found.logprobs, logprobs, capacity);
    if (score != nullptr)
      answer(given(found, logprobs, std::min(capacity, found.logprobs.size())), score, "augur_text_score");
    return static_cast<std::int64_t>(found.logprobs.size());
  });
}

void augur_scored_text_init(augur_scored_text* text, size_t size) {
  augur_scored_text out{};
  out.from = augur::ScoredText().from;
  write_defaults(out, text, size);
}

int32_t augur_score_many(augur_engine* engine, const augur_scored_text* const* texts, size_t count,
                         augur_score_callback on_score, void* user, augur_cancel_token* cancel) {
  return status([&] {
    const auto used = held(engine);
    if (on_score == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "on_score is NULL");
    std::vector<augur::ScoredText> all;
    for (const augur_scored_text* each : array("texts", texts, count)) {
      const augur_scored_text from = complete(each, augur_scored_text_default(), "augur_scored_text");
      const auto tokens = array("tokens", from.tokens, from.token_count);
      all.push_back({.tokens = {tokens.begin(), tokens.end()}, .from = from.from});
    }
    const auto flag = flag_of(cancel);
    const auto give_score = [&](std::size_t index, const augur::TextScore& found) {
      const augur_text_score score = given(found, found.logprobs.data(), found.logprobs.size());
      on_score(index, &score, user);
    };
    used->score_many(all, give_score, flag.get());
  });
}
