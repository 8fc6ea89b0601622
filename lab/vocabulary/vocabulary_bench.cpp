#include "lab/vocabulary/vocabulary_bench.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draft/detect.h"
#include "kernels/law.h"
#include "text/prompt_text.h"
#include "vocab/vocabulary_head.h"

namespace augur {

VocabularyBench::VocabularyBench(const Options& options)
    : backend_(options.threads, false, isa_under(options.law, select_isa())),
      checkpoint_(Checkpoint::open(options.model)),
      tokenizer_(checkpoint_.load_tokenizer()) {
  if (const auto source = checkpoint_.chat_template()) template_.emplace(*source);
  if (!options.draft.empty()) draft_ = Checkpoint::open(options.draft);
  if (options.type.empty() && !draft_) throw Error("neither a draft model nor a type of drafter is given");
  type_ = &find_drafter_type(options.type.empty() ? detect_drafter_type(*draft_) : options.type);
  if (!type_->projects) throw Error("type {}: such drafters have no vocabulary to choose from", type_->name);
  if (type_->needs_head && !draft_) throw Error("type {} needs a draft model", type_->name);
  model_ = Model::load(backend_, checkpoint_);
}

std::string VocabularyBench::drafter_name() const {
  return draft_ ? fmt::format("{} {}", type_->name, draft_->path().filename().string())
                : std::string(type_->name);
}

std::unique_ptr<DrafterModel> VocabularyBench::load(const VocabularyChoice& vocabulary) {
  return type_->load({.backend = backend_,
                      .target = *model_,
                      .tokenizer = *tokenizer_,
                      .target_path = checkpoint_.path().string(),
                      .head = draft_ ? &*draft_ : nullptr,
                      .context = model_->context(),
                      .vocabulary = &vocabulary});
}

std::vector<std::vector<TokenId>> VocabularyBench::prompts(std::span<const std::string> files,
                                                           std::int64_t limit, std::int64_t longest) const {
  constexpr std::int64_t kTextBytes = 400;
  std::vector<std::vector<TokenId>> all;
  for (const std::string& file : files) {
    std::int64_t taken = 0;
    read_training_prompts(file, kTextBytes, [&](TrainingPrompt prompt) {
      if (limit > 0 && taken == limit) return false;
      if (!prompt.messages.empty() && !template_) {
        throw Error("{}: a conversation, and the model has no chat template", prompt.source);
      }
      std::vector<TokenId> ids =
          prompt.messages.empty()
              ? encode_text(*tokenizer_, prompt.text)
              : encode_chat(*tokenizer_, render_chat(*template_, *tokenizer_, prompt.messages, true));
      if (ids.empty() || std::ssize(ids) > longest) return true;
      all.push_back(std::move(ids));
      ++taken;
      return true;
    });
  }
  if (all.empty()) throw Error("there is no prompt of at most {} tokens", longest);
  return all;
}

VocabularyBench::Answers VocabularyBench::run(const DrafterModel* drafter,
                                              std::span<const std::vector<TokenId>> prompts, const Run& how) {
  struct Running {
    std::size_t index;
    std::unique_ptr<Sequence> sequence;
  };
  Answers answers;
  answers.tokens.resize(prompts.size());
  Decoder decoder(*model_);
  std::vector<Running> running;
  std::vector<Sequence*> batch;
  std::int64_t done = 0;
  for (std::size_t next = 0; next < prompts.size() || !running.empty();) {
    while (next < prompts.size() && running.size() < how.parallel) {
      SequenceOptions options;
      options.sampling = how.sampling;
      options.sampling.seed += next;
      options.verification = how.verification;
      options.eos = tokenizer_->eos;
      options.max_tokens = how.max_tokens;
      if (drafter != nullptr) {
        const std::int64_t room = std::ssize(prompts[next]) + how.max_tokens + options.tree_slots;
        options.speculation.drafters.push_back({drafter->make({.context = std::min(model_->context(), room)}),
                                                std::make_unique<Eagle2Policy>(how.tree)});
      }
      // The sequence is not there yet when its callback is made.
      auto holder = std::make_shared<const Sequence*>(nullptr);
      if (how.on_step) {
        options.on_step = [&how, holder](const StepTrace& step) { how.on_step(**holder, step); };
      }
      running.push_back({next, std::make_unique<Sequence>(*model_, prompts[next], std::move(options))});
      *holder = running.back().sequence.get();
      ++next;
    }
    batch.clear();
    for (const Running& r : running) batch.push_back(r.sequence.get());
    decoder.step(batch);
    std::erase_if(running, [&](const Running& r) {
      const Sequence& s = *r.sequence;
      if (!s.finished()) return false;
      if (s.failure()) std::rethrow_exception(s.failure());
      answers.tokens[r.index].assign(s.generated().begin(), s.generated().end());
      answers.total.add(s.statistics());
      answers.generated_tokens += std::ssize(s.generated());
      answers.decode_ms += s.decode_ms();
      ++done;
      return true;
    });
    if (how.go_on && !how.go_on(done)) break;
  }
  return answers;
}

HeadObserver ExampleCollector::observer() {
  return [this](const HeadWeights& weights, std::span<const HeadRow> rows, const VocabularyHead& head) {
    take(weights, rows, head);
  };
}

void ExampleCollector::take(const HeadWeights& weights, std::span<const HeadRow> rows,
                            const VocabularyHead& head) {
  weights_ = weights;
  const std::int64_t width = weights.matrix->k();
  RouterExamples& e = examples_;
  e.inputs.columns = input_ == RouterInput::Previous ? 2 * width : width;
  const auto top = static_cast<std::size_t>(e.top);
  entries_.resize(top);
  values_.resize(top);
  for (std::size_t r = 0; r < rows.size() && !full(); ++r) {
    const HeadRow& row = rows[r];
    e.inputs.values.resize(e.inputs.values.size() + static_cast<std::size_t>(e.inputs.columns));
    ++e.inputs.rows;
    float* out = e.inputs.row(e.inputs.rows - 1);
    if (input_ == RouterInput::State) {
      load_head_row(weights, row.state, InputForm::F32, out);
    } else {
      if (weights.embedding == nullptr || row.previous == nullptr) {
        throw Error(
            "this drafter has no state before its newest token to "
            "route by: use the state itself");
      }
      weights.device->read_row(*weights.embedding, row.token, out);
      std::copy_n(row.previous, width, out + width);
    }
    e.steps.push_back(row.step);
    const std::span<const float> logits = head.logits(r);
    const std::size_t kept = std::min(top, logits.size());
    top_k(logits, static_cast<int>(kept), scratch_, entries_.data(), values_.data());
    const float total = log_sum_exp(logits.data(), std::ssize(logits));
    for (std::size_t i = 0; i < top; ++i) {
      e.tokens.push_back(i < kept ? weights.target_id(entries_[i]) : -1);
      e.probs.push_back(i < kept ? std::exp(values_[i] - total) : 0.0f);
    }
  }
}

}  // namespace augur
