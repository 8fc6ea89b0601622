#include "vocab/token_order.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/atomic_file.h"
#include "base/error.h"
#include "files/json_fields.h"
#include "files/json_reader.h"
#include "files/safetensors.h"
#include "files/safetensors_writer.h"
#include "files/torch_archive.h"
#include "model/part_folder.h"

namespace augur {
namespace {

/// Checks what a list promises: ids of the vocabulary, none twice.
std::vector<TokenId> checked(const std::string& file, std::span<const std::int64_t> ids, std::int32_t vocab) {
  if (ids.empty()) throw Error("{}: lists no tokens", file);
  std::vector<bool> seen(static_cast<std::size_t>(vocab));
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab) {
      throw Error("{}: entry {} is token {}: the vocabulary has {}", file, i, ids[i], vocab);
    }
    const auto id = static_cast<std::size_t>(ids[i]);
    if (seen[id]) throw Error("{}: entry {}: token {} is listed twice", file, i, id);
    seen[id] = true;
    tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

double quarter_share(std::span<const std::int64_t> frequencies, std::span<const TokenId> order) {
  double all = 0;
  double quarter = 0;
  const std::int64_t count = quarter_of(std::ssize(order));
  for (std::int64_t i = 0; i < std::ssize(order); ++i) {
    const auto times =
        static_cast<double>(frequencies[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    all += times;
    if (i < count) quarter += times;
  }
  return all > 0 ? quarter / all : 0.0;
}

TokenOrder read_folder(const std::filesystem::path& folder, std::int32_t vocab) {
  const PartFolder part(folder, "frspec");
  part.require_vocab(vocab);
  TokenOrder order{.file = part.file(), .tokens = {}, .complete = true};
  const WeightStore& store = part.store();
  if (store.find("frequencies") != nullptr) {
    const std::vector<std::int64_t> counts = part.integers("frequencies", {vocab});
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] < 0) {
        throw Error("{}: tensor frequencies: token {} has frequency {}", store.description(), i, counts[i]);
      }
    }
    order.tokens = by_frequency(counts);
    order.quarter_share = quarter_share(counts, order.tokens);
  } else {
    order.tokens = checked(store.description(), part.integers("order", {vocab}), vocab);
    order.quarter_share = part.config().find_number("quarter_share", 0.0, 1.0).value_or(0.0);
  }
  return order;
}

}  // namespace

void TokenOrder::force_in(std::int64_t size, std::span<const TokenId> always) {
  const auto end = tokens.begin() + size;
  for (const TokenId token : always) {
    if (std::find(tokens.begin(), end, token) != end) continue;
    auto place = end - 1;
    while (place != tokens.begin() && std::find(always.begin(), always.end(), *place) != always.end()) {
      --place;
    }
    const auto later = std::find(end, tokens.end(), token);
    if (later != tokens.end()) {
      std::iter_swap(place, later);
    } else {
      *place = token;
    }
  }
}

std::vector<TokenId> by_frequency(std::span<const std::int64_t> frequencies) {
  std::vector<TokenId> ids(frequencies.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    return frequencies[static_cast<std::size_t>(a)] > frequencies[static_cast<std::size_t>(b)];
  });
  return ids;
}

TokenOrder read_token_order(const std::filesystem::path& path, std::int32_t vocab) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_folder(path, vocab);
  const std::vector<std::int64_t> ids = read_torch_integers(path);
  return {.file = path.string(),
          .tokens = checked(path.string(), ids, vocab),
          .complete = std::ssize(ids) == vocab};
}

void write_token_order(const std::filesystem::path& folder, std::span<const std::int64_t> frequencies,
                       const nlohmann::ordered_json& facts) {
  std::filesystem::create_directories(folder);
  const auto vocab = static_cast<std::int64_t>(frequencies.size());
  const std::vector<TokenId> order = by_frequency(frequencies);
  SafetensorsWriter writer(folder / "model.safetensors",
                           {{.name = "order", .dtype = DType::I32, .shape = {vocab}}});
  writer.write(std::as_bytes(std::span(order)));
  writer.finish();
  nlohmann::ordered_json config = {{"augur_part", "frspec"},
                                   {"format", 1},
                                   {"vocab", vocab},
                                   {"quarter_share", quarter_share(frequencies, order)}};
  if (!facts.empty()) config.update(facts);
  AtomicFile file(folder / "config.json");
  file.write(config.dump(2) + "\n");
  file.commit();
}

}  // namespace augur
