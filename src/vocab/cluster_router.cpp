#include "vocab/cluster_router.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "files/safetensors_writer.h"
#include "model/part_folder.h"

namespace augur {
namespace {

constexpr const char* kPart = "dynaspec";

/// A matrix packed from rows, and its bias padded to whole panels.
PackedMatrix pack(DType type, std::int64_t n, std::int64_t k, std::span<const float> weight,
                  std::span<const float> bias, std::vector<float>& padded_bias) {
  PackedMatrix matrix(type, n, k);
  matrix.set_rows(0, weight);
  padded_bias.assign(static_cast<std::size_t>(matrix.panels() * PackedMatrix::kPanel), 0.0f);
  std::copy(bias.begin(), bias.end(), padded_bias.begin());
  return matrix;
}

ClusterPart read_clusters(const PartFolder& from, std::int32_t vocab) {
  from.require_vocab(vocab);
  const JsonFields& config = from.config();
  ClusterPart part;
  part.file = from.file();
  part.vocab = vocab;
  part.hidden = config.require_int("hidden", 1 << 20);
  part.clusters = config.require_int("clusters", vocab);
  part.router_hidden = config.require_int("router_hidden", 1 << 20);
  const std::string input = config.find_string("router_input").value_or("previous");
  if (input != "previous" && input != "state") {
    config.fail("router_input", fmt::format("expected previous or state, found {}", input));
  }
  part.input = input == "state" ? RouterInput::State : RouterInput::Previous;
  const auto budget = config.find_object("budget");
  if (!budget) config.fail("budget", "missing");
  part.budget.first = budget->require_int("first", part.clusters);
  part.budget.second = budget->require_int("second", part.clusters);
  part.budget.position_aware = budget->flag("position_aware", true);
  part.budget.by_row = budget->flag("by_row", false);
  if (const auto held_out = config.find_object("held_out")) {
    part.best_token_share = held_out->find_number("best_token", 0.0, 1.0).value_or(0.0);
    part.tokens = held_out->find_number("tokens", 0.0, static_cast<double>(vocab)).value_or(0.0);
  }

  std::vector<std::int64_t> sizes(static_cast<std::size_t>(part.clusters));
  for (const std::int64_t cluster : from.integers("cluster_of", {vocab})) {
    if (cluster < 0 || cluster >= part.clusters) {
      throw Error("{}: tensor cluster_of: token {} is in cluster {}, there are {}",
                  from.store().description(), part.cluster_of.size(), cluster, part.clusters);
    }
    ++sizes[static_cast<std::size_t>(cluster)];
    part.cluster_of.push_back(static_cast<std::int32_t>(cluster));
  }
  if (const auto empty = std::find(sizes.begin(), sizes.end(), 0); empty != sizes.end()) {
    throw Error("{}: tensor cluster_of: cluster {} has no tokens", from.store().description(),
                empty - sizes.begin());
  }
  part.fc1_weight = from.floats("router.fc1.weight", {part.router_hidden, part.inputs()});
  part.fc1_bias = from.floats("router.fc1.bias", {part.router_hidden});
  part.fc2_weight = from.floats("router.fc2.weight", {part.clusters, part.router_hidden});
  part.fc2_bias = from.floats("router.fc2.bias", {part.clusters});
  return part;
}

}  // namespace

std::int64_t ClusterBudget::at(int step) const {
  if (step <= 0 || !position_aware) return first;
  const std::int64_t t = step;
  return t == 1 ? second : std::max<std::int64_t>(1, (second + (floored ? 0 : t)) / (2 * t));
}

ClusterPart ClusterPart::read(const std::filesystem::path& folder, const Fingerprint& target) {
  const PartFolder from(folder, kPart);
  from.require_vocab(target.vocab);
  from.check_target(&target, Strictness::SameModel);
  return read_clusters(from, target.vocab);
}

std::optional<ClusterPart> ClusterPart::read_if_fits(const std::filesystem::path& folder,
                                                     const Fingerprint& target) {
  const PartFolder from(folder, kPart);
  if (!from.fits(target, Strictness::SameModel)) return std::nullopt;
  return read_clusters(from, target.vocab);
}

void ClusterPart::write(const std::filesystem::path& folder, const nlohmann::ordered_json& facts) const {
  std::filesystem::create_directories(folder);
  SafetensorsWriter writer(
      folder / "model.safetensors",
      {{.name = "cluster_of", .dtype = DType::I32, .shape = {vocab}},
       {.name = "router.fc1.weight", .dtype = DType::BF16, .shape = {router_hidden, inputs()}},
       {.name = "router.fc1.bias", .dtype = DType::BF16, .shape = {router_hidden}},
       {.name = "router.fc2.weight", .dtype = DType::BF16, .shape = {clusters, router_hidden}},
       {.name = "router.fc2.bias", .dtype = DType::BF16, .shape = {clusters}}});
  writer.write(std::as_bytes(std::span(cluster_of)));
  for (const auto* values : {&fc1_weight, &fc1_bias, &fc2_weight, &fc2_bias}) {
    std::vector<BF16> rounded(values->size());
    std::transform(values->begin(), values->end(), rounded.begin(), to_bf16);
    writer.write(std::as_bytes(std::span(rounded)));
  }
  writer.finish();
  nlohmann::ordered_json config = {{"augur_part", kPart},
                                   {"format", 1},
                                   {"vocab", vocab},
                                   {"hidden", hidden},
                                   {"clusters", clusters},
                                   {"router_hidden", router_hidden},
                                   {"router_input", input == RouterInput::State ? "state" : "previous"},
                                   {"budget",
                                    {{"first", budget.first},
                                     {"second", budget.second},
                                     {"position_aware", budget.position_aware},
                                     {"by_row", budget.by_row}}}};
  if (!facts.empty()) config.update(facts);
  AtomicFile config_file(folder / "config.json");
  config_file.write(config.dump(2) + "\n");
  config_file.commit();
}

ClusterRouter::ClusterRouter(const ClusterPart& part, DType type)
    : fc1_(pack(type, part.router_hidden, part.inputs(), part.fc1_weight, part.fc1_bias, fc1_bias_)),
      fc2_(pack(type, part.clusters, part.router_hidden, part.fc2_weight, part.fc2_bias, fc2_bias_)),
      hidden_(InputForm::F32, part.router_hidden, PackedMatrix::kPanel),
      activated_(fc2_.input_form(), activation_stride(part.router_hidden), 1),
      scores_(InputForm::F32, part.clusters, PackedMatrix::kPanel) {}

void ClusterRouter::ensure(int rows) {
  hidden_.ensure(rows);
  activated_.ensure(rows);
  scores_.ensure(rows);
}

void ClusterRouter::run(Team& team, const KernelSet& kernels, int rows, const void* x,
                        std::int64_t x_stride) {
  kernels.gemm({.weight = &fc1_,
                .x = x,
                .x_stride = x_stride,
                .rows = rows,
                .y = hidden_.floats(0),
                .y_stride = hidden_.stride(),
                .bias = fc1_bias_.data()},
               team.split(fc1_.panels()));
  team.barrier();
  const Range mine = team.split(rows);
  for (std::int64_t r = mine.begin; r < mine.end; ++r) {
    float* row = hidden_.floats(r);
    for (std::int64_t i = 0; i < fc1_.n(); ++i) row[i] = std::max(row[i], 0.0f);
    convert_row(row, fc1_.n(), fc2_.input_form(), activated_.row(r));
  }
  team.barrier();
  kernels.gemm({.weight = &fc2_,
                .x = activated_.row(0),
                .x_stride = activated_.stride(),
                .rows = rows,
                .y = scores_.floats(0),
                .y_stride = scores_.stride(),
                .bias = fc2_bias_.data()},
               team.split(fc2_.panels()));
}

void mark_best(std::span<const float> scores, std::int64_t count, TopKScratch& scratch,
               std::vector<std::int32_t>& indices, std::vector<float>& values, std::vector<bool>& marked) {
  const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(count, std::ssize(scores)));
  indices.resize(kept);
  values.resize(kept);
  top_k(scores, static_cast<int>(kept), scratch, indices.data(), values.data());
  for (const std::int32_t index : indices) marked[static_cast<std::size_t>(index)] = true;
}

}  // namespace augur
