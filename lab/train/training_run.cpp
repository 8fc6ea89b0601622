#include "lab/train/training_run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/temporary_file.h"
#include "files/json_reader.h"
#include "files/safetensors.h"
#include "lab/train/part_times.h"
#include "lab/train/torch_tensors.h"

namespace augur {

namespace {

constexpr const char* kCheckpoint = "checkpoint.safetensors";
constexpr const char* kSettings = "settings";  // in the checkpoint: TrainingRun::settings() as text
constexpr const char* kCurve = "curve.tsv";

/// The key of a visit; evaluations have keys of their own, the same every time.
std::uint64_t visit_key(std::uint64_t seed, std::int64_t position, bool evaluation) {
  return seed * 0x9E3779B97F4A7C15u + 2 * static_cast<std::uint64_t>(position) + (evaluation ? 1 : 0);
}

/// The examples in their order, as many at a time as make up `pack_tokens`: a step of no more tokens is one
/// pack.
Grade run_packs(Learner& learner, std::span<const Example> examples, std::int64_t pack_tokens, bool learn,
                TensorCount* count) {
  std::optional<TensorCount::Watch> watch;
  if (count != nullptr) watch.emplace(*count);
  Grade grade;
  std::size_t begin = 0;
  while (begin < examples.size()) {
    std::size_t end = begin;
    std::int64_t tokens = 0;
    while (end < examples.size() && tokens < pack_tokens) tokens += std::ssize(examples[end++].tokens);
    grade.add(learner.run(examples.subspan(begin, end - begin), learn));
    if (count != nullptr) count->next_pack();
    begin = end;
  }
  return grade;
}

std::int64_t tokens_of(const std::vector<Example>& examples) {
  std::int64_t tokens = 0;
  for (const Example& example : examples) tokens += std::ssize(example.tokens);
  return tokens;
}

/// What two settings say differently, "place: found, now expected".
std::string differences(const nlohmann::json& found, const nlohmann::json& expected) {
  const nlohmann::json a = found.flatten(), b = expected.flatten();
  std::string text;
  const auto compare = [&](const std::string& place) {
    const std::string before = a.contains(place) ? a[place].dump() : "none";
    const std::string now = b.contains(place) ? b[place].dump() : "none";
    if (before != now)
      text += fmt::format("{}{}: {}, now {}", text.empty() ? "" : "; ", place.substr(place.empty() ? 0 : 1),
                          before, now);
  };
  for (const auto& [place, value] : a.items()) compare(place);
  for (const auto& [place, value] : b.items()) {
    if (!a.contains(place)) compare(place);
  }
  return text;
}

/// What a visit takes, about, in tokens without anything to learn: the vocabulary's loss costs as much as the
/// layers, and so does attention over a thousand tokens.
double visit_cost(const Example& example) {
  const auto tokens = static_cast<double>(example.tokens.size());
  const auto learnt =
      std::count_if(example.learn.begin(), example.learn.end(), [](auto l) { return l != 0; });
  return tokens + static_cast<double>(learnt) + tokens * tokens / 1000;
}

}  // namespace

TrainingRun::TrainingRun(Learner& learner, const Dataset& data, const TrainingOptions& options,
                         std::filesystem::path folder, CardFacts facts, Log log)
    : learner_(learner),
      workers_{&learner},
      data_(data),
      options_(options),
      folder_(std::move(folder)),
      facts_(std::move(facts)),
      log_(std::move(log)),
      order_(std::max<std::int64_t>(data.size() - options.held_out, 1), options.seed + 1),
      optimizer_(learner.parameters(), [&](std::string_view name) { return learner.is_table(name); },
                 {.rate = options.learning_rate,
                  .schedule = schedule(),
                  .beta1 = options.beta1,
                  .beta2 = options.beta2,
                  .weight_decay = options.weight_decay,
                  .clip = options.clip,
                  .muon = options.muon}) {
  set_gradient_checkpointing(options.gradient_checkpointing == GradientCheckpointing::On);
  if (data.size() <= options.held_out) {
    throw Error("training data: {} sequences, but {} are held out for evaluation", data.size(),
                options.held_out);
  }
  ShuffledOrder held_order(data.size(), options.seed);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    (i < options.held_out ? held_set_ : training_set_).push_back(held_order.at(i));
  }
  if (options.learn_prompts) {
    std::size_t longest = 0;
    for (const std::int64_t i : training_set_) longest = std::max(longest, data[i].tokens.size());
    everything_.assign(longest, 1);
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw Error("{}: cannot create the folder: {}", folder_.string(), error.message());
  remove_abandoned_files(folder_);
  if (load_checkpoint()) log_(fmt::format("continuing at {} tokens, step {}", tokens_, steps_));
  curve_ = std::make_unique<LearningCurve>(folder_ / kCurve, tokens_);
  facts_.title = learner.title();
  facts_.planned_tokens = options.total_tokens;
  facts_.settings = fmt::format(
      "{}AdamW ({}, {}), learning rate {:g} with {:g}% warm-up and a cosine to {:g}%, weight decay {:g}, "
      "clip "
      "{:g}, "
      "{} tokens a step, seed {}",
      options.muon ? "Muon for matrices between states, else " : "", options.beta1, options.beta2,
      options.learning_rate, 100 * options.warmup, 100 * options.final_rate, options.weight_decay,
      options.clip, options.step_tokens, options.seed);
}

TrainingRun::~TrainingRun() = default;

double TrainingRun::along() const {
  return static_cast<double>(tokens_) / static_cast<double>(options_.total_tokens);
}

void TrainingRun::add_worker(Learner& worker) {
  worker.share_weights(learner_);
  worker.set_gradient_checkpointing(options_.gradient_checkpointing == GradientCheckpointing::On);
  workers_.push_back(&worker);
}

void TrainingRun::set_gradient_checkpointing(bool on) {
  for (Learner* worker : workers_) worker->set_gradient_checkpointing(on);
}

Grade TrainingRun::run_all(std::vector<Example> examples, bool learn, const TensorCounts& counts) {
  const auto count_of = [&](std::size_t worker) { return counts.empty() ? nullptr : counts[worker].get(); };
  if (workers_.size() == 1) {
    return run_packs(learner_, examples, options_.pack_tokens, learn, count_of(0));
  }
  // The longest first, each to the worker with the least to do so far: the same shares every time.
  std::stable_sort(examples.begin(), examples.end(),
                   [](const Example& a, const Example& b) { return a.tokens.size() > b.tokens.size(); });
  std::vector<std::vector<Example>> shares(workers_.size());
  std::vector<double> loads(workers_.size(), 0);
  for (const Example& example : examples) {
    const auto least = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    shares[least].push_back(example);
    loads[least] += visit_cost(example);
  }
  std::vector<std::future<Grade>> grades;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    grades.push_back(std::async(
        std::launch::async, [this, &worker = *workers_[w], &share = shares[w], learn, count = count_of(w)] {
          at::set_num_threads(1);  // of this thread
          return run_packs(worker, share, options_.pack_tokens, learn, count);
        }));
  }
  Grade grade;
  for (const std::future<Grade>& one : grades) one.wait();  // all, before an error of one ends the step
  for (std::future<Grade>& one : grades) grade.add(one.get());
  for (std::size_t w = 1; learn && w < workers_.size(); ++w)
    optimizer_.take_gradients(workers_[w]->parameters());
  return grade;
}

std::vector<Example> TrainingRun::step_from(std::int64_t position) {
  std::vector<Example> examples;
  for (std::int64_t taken = 0; taken < options_.step_tokens; ++position) {
    Example example = data_[training_set_[static_cast<std::size_t>(order_.at(position))]];
    example.key = visit_key(options_.seed, position, false);
    if (options_.learn_prompts) example.learn = std::span(everything_).first(example.tokens.size());
    examples.push_back(example);
    taken += static_cast<std::int64_t>(example.tokens.size());
  }
  return examples;
}

TrainingNeeds TrainingRun::needs(const FreeMemory& free) {
  constexpr double kLongMs = 30e3;
  constexpr double kFree = 0.9;  // that a run may take of what is free
  TrainingNeeds needs{.tokens = std::max<std::int64_t>(options_.total_tokens - tokens_, 0)};
  std::int64_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.is_regular_file()) there += static_cast<std::int64_t>(entry.file_size());
  }
  constexpr std::int64_t kPart = 2;  // bytes of a number in the result
  needs.disk_bytes = 2 * (optimizer_.checkpoint_bytes() + kPart * optimizer_.numbers());
  check_room(folder_, needs.disk_bytes, there);
  const std::vector<Example> examples = step_from(position_);
  const std::int64_t tokens = tokens_of(examples);
  const bool decides = options_.gradient_checkpointing == GradientCheckpointing::Auto;
  needs.gradient_checkpointing = options_.gradient_checkpointing != GradientCheckpointing::Off;
  set_gradient_checkpointing(needs.gradient_checkpointing);
  // Those of AdamW are made in the first step.
  const std::int64_t moments = steps_ > 0 ? 0 : 2 * std::int64_t{sizeof(float)} * optimizer_.numbers();
  std::int64_t tensors = 0;  // at their most
  std::int64_t to_come = 0;  // that no step has taken yet
  double ms = 0;
  for (int again = 0; again < 2;
       ++again) {  // the first takes its memory from the system and compiles products
    TensorCounts counts;
    while (counts.size() < workers_.size()) counts.push_back(std::make_unique<TensorCount>(device()));
    const bool checkpointed = needs.gradient_checkpointing;
    const Stopwatch clock;
    run_all(examples, true, counts);
    optimizer_.clear_gradients();
    ms = clock.ms();
    tensors = counts[0]->before();
    std::int64_t recomputed = 0;
    for (const auto& count : counts) {
      tensors += count->most();
      recomputed += count->recomputed();
    }
    if (checkpointed) needs.recomputed_bytes = recomputed;
    if (again == 0 && decides) {
      const std::optional<std::int64_t> room = free(device());
      needs.gradient_checkpointing =
          room && static_cast<double>(recomputed + moments) > kFree * static_cast<double>(*room);
      set_gradient_checkpointing(needs.gradient_checkpointing);
    }
    if (ms <= kLongMs) continue;
    if (checkpointed && !needs.gradient_checkpointing) to_come = recomputed;
    break;
  }
  needs.tokens_a_second = static_cast<double>(tokens) / ms * 1e3;
  needs.memory_bytes = peak_memory_bytes();
  if (device().is_cpu()) {
    needs.memory_bytes += to_come;
  } else {
    needs.device_bytes = tensors + to_come + moments;
  }
  return needs;
}

void TrainingRun::step() {
  optimizer_.clear_gradients();
  std::vector<Example> examples = step_from(position_);
  position_ += std::ssize(examples);
  const std::int64_t taken = tokens_of(examples);
  const Grade grade = run_all(std::move(examples), true);
  tokens_ += taken;
  recent_.add(grade);
  if (grade.rows == 0) return;
  ++steps_;
  const TimedPart timed("optimizer", device());
  const double norm = optimizer_.step(static_cast<double>(grade.rows), along());
  if (!std::isfinite(norm)) throw Error("training: the gradient is not finite at step {}", steps_);
}

Grade TrainingRun::evaluate() {
  std::vector<Example> examples;
  for (const std::int64_t index : held_set_) {
    examples.push_back(data_[index]);
    examples.back().key = visit_key(options_.seed, index, true);
  }
  return run_all(std::move(examples), false);
}

void TrainingRun::record_evaluation() {
  const Grade held_out = evaluate();
  curve_->add(tokens_, held_out);
  log_("held out: " + held_out.summary());
  clock_.restart();
}

void TrainingRun::log_progress() {
  const double seen = static_cast<double>(tokens_ - logged_) / clock_.restart() * 1e3;
  const double left = static_cast<double>(std::max<std::int64_t>(options_.total_tokens - tokens_, 0)) / seen;
  log_(fmt::format("{:>10} tokens ({:.1f}%)  {:>6.0f} tok/s  {} left  lr {:.2e}  {}", tokens_,
                   100 * static_cast<double>(tokens_) / static_cast<double>(options_.total_tokens), seen,
                   duration(left), options_.learning_rate * schedule().at(along()), recent_.summary()));
  if (const std::string times = part_times(); !times.empty()) log_("  " + times);
  recent_ = {};
  logged_ = tokens_;
}

bool TrainingRun::train(const std::function<bool()>& stop) {
  const auto boundary = [&](std::int64_t before, std::int64_t every) {
    return before / every != tokens_ / every;
  };
  if (tokens_ == 0) record_evaluation();
  if (tokens_ >= options_.total_tokens) save_all();  // what ended the last run may have kept it from that
  clock_.restart();
  logged_ = tokens_;
  while (tokens_ < options_.total_tokens) {
    const std::int64_t before = tokens_;
    step();
    const bool ended = tokens_ >= options_.total_tokens;
    const bool evaluates = ended || boundary(before, options_.evaluate_tokens);
    if (evaluates || clock_.ms() >= options_.log_seconds * 1e3)
      log_progress();  // grading is no part of its rate
    if (evaluates) record_evaluation();
    const bool stopped = !ended && stop();
    if (ended || stopped || boundary(before, options_.checkpoint_tokens)) save_all();
    if (stopped) return false;
  }
  return true;
}

void TrainingRun::save_all() {
  save_checkpoint();
  learner_.save(folder_);
  facts_.tokens = tokens_;
  facts_.steps = steps_;
  write_card(folder_, facts_, *curve_);
}

void TrainingRun::save_checkpoint() {
  NamedTensors tensors;
  for (const auto& parameter : optimizer_.parameters()) tensors.push_back(parameter);
  for (auto& kept : optimizer_.state()) tensors.push_back(std::move(kept));
  tensors.emplace_back("progress",
                       torch::tensor({position_, tokens_, steps_, static_cast<std::int64_t>(options_.seed),
                                      data_.size(), data_.tokens()},
                                     torch::kInt64));
  const std::string line = settings().dump();
  tensors.emplace_back(kSettings,
                       torch::tensor(std::vector<std::uint8_t>(line.begin(), line.end()), torch::kUInt8));
  save_tensors(folder_ / kCheckpoint, tensors);
}

nlohmann::json TrainingRun::settings() const {
  return {{"part", learner_.settings()},
          {"optimizer", options_.muon ? "muon" : "adamw"},
          {"held_out", options_.held_out}};
}

bool TrainingRun::load_checkpoint() {
  const std::filesystem::path path = folder_ / kCheckpoint;
  if (!std::filesystem::exists(path)) return false;
  const std::unique_ptr<WeightStore> store = open_safetensors(path);
  const torch::Tensor progress = to_torch(store->require("progress", {6}));
  const auto* p = progress.data_ptr<std::int64_t>();
  if (p[3] != static_cast<std::int64_t>(options_.seed) || p[4] != data_.size() || p[5] != data_.tokens()) {
    throw Error(
        "{}: made with other data or another seed ({} sequences, {} tokens, seed {}; now {}, {}, {}): "
        "choose another output folder, or delete the checkpoint",
        path.string(), p[4], p[5], p[3], data_.size(), data_.tokens(), options_.seed);
  }
  if (const StoredTensor* stored = store->find(kSettings)) {
    const std::string line(reinterpret_cast<const char*>(stored->bytes.data()), stored->bytes.size());
    const std::string other = differences(parse_json(line, path.string() + ": tensor settings"), settings());
    if (!other.empty()) {
      throw Error("{}: made with other settings ({}): choose another output folder, or delete the checkpoint",
                  path.string(), other);
    }
  } else {
    log_(fmt::format(
        "{}: from an earlier version, which did not keep the settings: they are taken to be the same",
        path.string()));
  }
  position_ = p[0];
  tokens_ = p[1];
  steps_ = p[2];
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : optimizer_.parameters())
    tensor.copy_(to_torch(store->require(name, tensor.sizes().vec())));
  optimizer_.load_state(*store, steps_);
  return true;
}

}  // namespace augur
