#include "engine/text_reader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <list>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/kv_cache.h"
#include "sampling/logprobs.h"

namespace augur {

TextReader::TextReader(Model& model, const std::atomic<bool>* cancel)
    : model_(model), cancel_(cancel), stride_((model.config().vocab + 15) / 16 * 16) {}

void TextReader::check(std::span<const TokenId> tokens) const {
  if (tokens.empty()) throw Error(refused("tokens"), "tokens: the text is empty");
  if (std::ssize(tokens) > model_.context()) {
    throw Error(ErrorKind::ContextFull, "the text has {} tokens, but the context holds {}", tokens.size(),
                model_.context());
  }
  for (const TokenId token : tokens) {
    if (token < 0 || token >= model_.config().vocab) {
      throw Error(refused("tokens"), "token {} is outside the vocabulary of {}", token,
                  model_.config().vocab);
    }
  }
}

void TextReader::read(std::span<const std::span<const TokenId>> texts, const Look& look,
                      std::span<const Tap> taps) {
  for (const std::span<const TokenId> tokens : texts) check(tokens);
  std::vector<TokenId> ids;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<Part> parts;
  std::list<KvCache> caches;  // of the texts in the pass; only the last goes on in the next one
  std::vector<KvTxn> txns;
  txns.reserve(kRows);
  std::vector<TokenBatch::Sequence> sequences;
  std::int64_t done = 0;  // rows of the text `next`
  for (std::size_t next = 0; next < texts.size();) {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))
      throw Error(ErrorKind::Cancelled, "reading texts was cancelled");
    ids.clear();
    positions.clear();
    parents.clear();
    parts.clear();
    while (next < texts.size() && std::ssize(ids) < kRows) {
      const std::span<const TokenId> tokens = texts[next];
      if (done == 0) caches.push_back(model_.make_cache(std::ssize(tokens)));
      const auto row = static_cast<int>(ids.size());
      const auto count = static_cast<int>(std::min<std::int64_t>(kRows - row, std::ssize(tokens) - done));
      txns.push_back(caches.back().reserve(count, count));
      parts.push_back({.text = next, .first = done, .row = row, .rows = count});
      for (int i = 0; i < count; ++i) {
        ids.push_back(tokens[static_cast<std::size_t>(done + i)]);
        positions.push_back(static_cast<std::int32_t>(done + i));
        parents.push_back(i == 0 ? -1 : row + i - 1);
      }
      done += count;
      if (done < std::ssize(tokens)) break;  // the pass is full
      done = 0;
      ++next;
    }
    sequences.clear();
    for (std::size_t i = 0; i < parts.size(); ++i)
      sequences.push_back({.kv = &txns[i], .first_row = parts[i].row, .rows = parts[i].rows});
    model_.backend().pool.make_way();
    model_.forward({.tokens = ids, .positions = positions, .parents = parents, .sequences = sequences},
                   {.taps = taps});
    look(parts);
    for (KvTxn& txn : txns) txn.commit_all();
    txns.clear();
    while (caches.size() > (done > 0 ? 1u : 0u)) caches.pop_front();
  }
}

const float* TextReader::compute_logits(std::span<const std::int32_t> rows) {
  const std::size_t size = rows.size() * static_cast<std::size_t>(stride_);
  if (logits_.size() < size) logits_ = Buffer<float>(size);
  model_.logits(rows, logits_.data(), stride_);
  return logits_.data();
}

void TextReader::logits(std::span<const TokenId> tokens, const LogitsCallback& on_rows) {
  const std::int64_t vocab = model_.config().vocab;
  std::vector<std::int32_t> rows;
  read({&tokens, 1}, [&](std::span<const Part> parts) {
    const Part& part = parts.front();
    rows.resize(static_cast<std::size_t>(part.rows));
    std::iota(rows.begin(), rows.end(), part.row);
    compute_logits(rows);
    float* const out = logits_.data();
    for (std::int64_t i = 1; i < part.rows; ++i)  // the rows without what lies between them
      std::copy(out + i * stride_, out + i * stride_ + vocab, out + i * vocab);
    on_rows(part.first, {out, static_cast<std::size_t>(part.rows * vocab)});
  });
}

std::vector<float> TextReader::hidden_states(std::span<const TokenId> tokens, int layer) {
  const int layers = model_.config().layers;
  if (layer < 0 || layer > layers)
    throw Error(refused("layer"), "layer {}: expected 0 to {}, the number of layers", layer, layers);
  const std::int64_t hidden = model_.config().hidden;
  Buffer<float> tapped(static_cast<std::size_t>(std::min<std::int64_t>(kRows, std::ssize(tokens)) * hidden));
  const Tap tap{.layer = layer, .out = tapped.data(), .out_stride = hidden};
  std::vector<float> states;
  states.reserve(tokens.size() * static_cast<std::size_t>(hidden));
  read({&tokens, 1},
       [&](std::span<const Part> parts) {
         states.insert(states.end(), tapped.data(), tapped.data() + parts.front().rows * hidden);
       },
       {&tap, 1});
  return states;
}

std::vector<float> TextReader::embed(std::span<const TokenId> tokens, Pooling pooling, bool normalised) {
  const auto hidden = static_cast<std::size_t>(model_.config().hidden);
  std::vector<float> normed;
  std::vector<double> sum(hidden);
  read({&tokens, 1}, [&](std::span<const Part> parts) {
    const Part& part = parts.front();
    const bool last = part.first + part.rows == std::ssize(tokens);
    if (pooling == Pooling::Last && !last) return;
    const int first = pooling == Pooling::Last ? part.rows - 1 : 0;
    const auto count = static_cast<std::size_t>(part.rows - first);
    normed.resize(count * hidden);
    model_.final_norm(model_.result().data() + static_cast<std::size_t>(first) * hidden,
                      static_cast<int>(count), normed.data());
    for (std::size_t i = 0; i < normed.size(); ++i) sum[i % hidden] += static_cast<double>(normed[i]);
  });
  double scale = pooling == Pooling::Mean ? 1.0 / static_cast<double>(tokens.size()) : 1.0;
  if (normalised) {
    const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
    scale = length > 0 ? 1.0 / length : 1.0;
  }
  std::vector<float> out(hidden);
  std::transform(sum.begin(), sum.end(), out.begin(),
                 [&](double x) { return static_cast<float>(x * scale); });
  return out;
}

void TextReader::score(std::span<const ScoredText> texts, const ScoreCallback& on_score) {
  std::vector<std::span<const TokenId>> tokens;
  for (const ScoredText& text : texts) {
    if (text.from < 1 || text.from > std::ssize(text.tokens)) {
      throw Error(refused("from"), "from {}: expected 1 to {}, the number of tokens", text.from,
                  text.tokens.size());
    }
    tokens.emplace_back(text.tokens);
  }
  struct Scored {
    std::size_t text;
    TokenId token;
    float logprob;
    bool greedy;
  };
  std::vector<Scored> scored;
  std::vector<std::int32_t> rows;
  TextScore score;  // of the text that is being read
  read(tokens, [&](std::span<const Part> parts) {
    scored.clear();
    rows.clear();
    for (const Part& part : parts) {
      const ScoredText& text = texts[part.text];
      for (std::int64_t next = std::max(part.first + 1, text.from);
           next < std::min(part.first + part.rows + 1, std::ssize(text.tokens)); ++next) {
        rows.push_back(static_cast<std::int32_t>(part.row + next - 1 - part.first));
        scored.push_back({part.text, text.tokens[static_cast<std::size_t>(next)], 0, false});
      }
    }
    if (!rows.empty()) {
      const float* const logits = compute_logits(rows);
      const auto vocab = static_cast<std::size_t>(model_.config().vocab);
      std::atomic<std::size_t> at{0};
      model_.backend().pool.run([&](Team&) {
        for (std::size_t i; (i = at.fetch_add(1)) < scored.size();) {
          const std::span<const float> row(logits + i * static_cast<std::size_t>(stride_), vocab);
          scored[i].logprob = logprobs(row, scored[i].token, 0).logprob;
          scored[i].greedy = argmax(row.data(), std::ssize(row)) == scored[i].token;
        }
      });
    }
    auto from = scored.begin();
    for (const Part& part : parts) {
      for (; from != scored.end() && from->text == part.text; ++from) {
        score.logprobs.push_back(from->logprob);
        score.sum += static_cast<double>(from->logprob);
        score.greedy = score.greedy && from->greedy;
      }
      if (part.first + part.rows == std::ssize(texts[part.text].tokens))
        on_score(part.text, std::exchange(score, {}));
    }
  });
}

}  // namespace augur
