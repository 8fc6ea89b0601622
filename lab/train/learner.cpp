#include "lab/train/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "files/safetensors.h"

namespace augur {

void Grade::count(int depth, std::int64_t agreed, std::int64_t of) {
  hits[static_cast<std::size_t>(depth)] += agreed;
  tries[static_cast<std::size_t>(depth)] += of;
}

void Grade::add(const Grade& other) {
  loss += other.loss;
  rows += other.rows;
  hits.resize(std::max(hits.size(), other.hits.size()));
  tries.resize(std::max(tries.size(), other.tries.size()));
  for (std::size_t i = 0; i < other.hits.size(); ++i) {
    hits[i] += other.hits[i];
    tries[i] += other.tries[i];
  }
}

double Grade::agreement(std::size_t depth) const {
  return tries[depth] > 0 ? static_cast<double>(hits[depth]) / static_cast<double>(tries[depth]) : 0;
}

double Grade::chain_length() const {
  double length = 1;
  double survival = 1;
  for (std::size_t i = 0; i < hits.size() && tries[i] > 0; ++i) {
    survival *= agreement(i);
    length += survival;
  }
  return length;
}

std::string Grade::summary() const {
  std::string text = fmt::format("loss {:.4f}  chain {:.3f}  agreement", mean_loss(), chain_length());
  for (std::size_t i = 0; i < hits.size(); ++i) text += fmt::format(" {:.3f}", agreement(i));
  return text;
}

void Learner::share_weights(Learner& other) {
  NamedTensors mine = parameters();
  const NamedTensors theirs = other.parameters();
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i].second.set_data(theirs[i].second.data());
}

nlohmann::json Learner::described() const {
  nlohmann::json all = config();
  if (target_fingerprint_) all[kHeadTargetKey] = to_json(*target_fingerprint_);
  return all;
}

nlohmann::json Learner::settings() const {
  nlohmann::json all = described();
  for (const auto& [name, tensor] : constants()) {
    const torch::Tensor values = tensor.to(torch::kInt64).contiguous();
    Fnv1a hash;
    for (std::int64_t i = 0; i < values.numel(); ++i)
      hash.add(static_cast<std::uint64_t>(values.data_ptr<std::int64_t>()[i]));
    all[name] = fmt::format("{:016x}", hash.value());
  }
  return all;
}

void Learner::save(const std::filesystem::path& folder) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : parameters()) tensors.emplace_back(name, tensor.to(torch::kBFloat16));
  for (const auto& constant : constants()) tensors.push_back(constant);
  save_tensors(folder / file(), tensors);
  AtomicFile json(folder / "config.json");  // last: a folder without it is no part
  json.write(described().dump(2) + "\n");
  json.commit();
}

void Learner::load(const std::filesystem::path& folder) {
  const std::unique_ptr<WeightStore> store = open_safetensors(folder / file());
  const torch::NoGradGuard no_grad;
  const auto stored = [&](const std::string& name, const torch::Tensor& like) {
    return to_torch(store->require(name, like.sizes().vec()));
  };
  const DraftVocabulary* vocabulary = table_vocabulary();
  if (vocabulary == nullptr) {
    for (const auto& [name, tensor] : constants()) {
      if (!stored(name, tensor).equal(tensor.to(torch::kInt64))) {
        throw Error("{}: tensor {} is not what this run would store (another draft vocabulary)",
                    (folder / file()).string(), name);
      }
    }
  }
  for (auto& [name, tensor] : parameters()) {
    if (vocabulary != nullptr && is_table(name)) {
      const DraftVocabulary theirs = stored_vocabulary(folder / file(), vocabulary->target_size());
      const StoredTensor& rows = store->require(name, {theirs.size(), tensor.size(1)});
      vocabulary->take_rows(tensor, theirs, to_torch(rows));
    } else {
      tensor.copy_(stored(name, tensor));
    }
  }
}

}  // namespace augur
