#include "lab/suite/workbench.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/part_location.h"
#include "lab/suite/cell.h"
#include "vocab/vocabulary_spec.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

EngineOptions target_only(EngineOptions options) {
  options.speculation.drafters = {"none"};
  return options;
}

/// Where a part of the draft vocabulary's kind lies; empty: the whole vocabulary.
/// What a draft vocabulary is made from.
std::vector<fs::path> vocabulary_parts(const std::string& vocabulary, const std::string& draft_model) {
  const VocabularySpec spec = VocabularySpec::parse(vocabulary).located(parts_folder(draft_model));
  if (spec.path.empty()) return {};
  if (spec.kind != VocabularySpec::Kind::Auto) return {spec.path};
  std::vector<fs::path> parts = {find_part(spec.path, "frspec"), find_part(spec.path, "dynaspec")};
  std::erase_if(parts, [](const fs::path& part) { return part.empty(); });
  return parts;
}

Request request_for(const SuiteRequest& how) {
  Request request;
  request.max_tokens = how.max_tokens;
  request.stop = how.stop;
  request.ignore_eos = how.ignore_eos;
  request.sampling = how.sampling;
  return request;
}

std::uint64_t hash_file(const fs::path& file, std::uint64_t hash) {
  std::error_code gone;
  const std::uint64_t facts[] = {
      fs::file_size(file, gone),
      static_cast<std::uint64_t>(fs::last_write_time(file, gone).time_since_epoch().count())};
  return hash_bytes(std::as_bytes(std::span(facts)), hash_text(file.filename().string(), hash));
}

/// A file, or the files of a folder that say what a part does.
std::uint64_t hash_part(const fs::path& part, std::uint64_t hash) {
  std::vector<fs::path> files = {part};
  if (fs::is_directory(part)) {
    files.clear();
    for (const fs::directory_entry& entry : fs::directory_iterator(part)) {
      const fs::path ending = entry.path().extension();
      if (entry.is_regular_file() && (ending == ".json" || ending == ".safetensors")) files.push_back(entry);
    }
    std::sort(files.begin(), files.end());
  }
  for (const fs::path& file : files) hash = hash_file(file, hash);
  return hash;
}

}  // namespace

Workbench::Workbench(const EngineOptions& options, const std::vector<Method>& methods)
    : base_(target_only(options)), base_vocabulary_(options.speculation.draft_vocabulary) {
  for (const Method& method : methods) {
    const Drafting drafting = drafting_of(method);
    if (drafting == Drafting("", base_vocabulary_) || by_drafting_.count(drafting) > 0) continue;
    EngineOptions own = options;
    if (!method.draft_model.empty()) own.draft_model = method.draft_model;
    own.speculation = method.speculation;  // its types say what the files are to be used as
    by_drafting_.emplace(drafting, EngineAccess::sibling(base_, own));
  }
}

Workbench::Drafting Workbench::drafting_of(const Method& method) const {
  return {method.draft_model,
          method.plain() || method.peer() ? base_vocabulary_ : method.speculation.draft_vocabulary};
}

Engine& Workbench::engine(const Method& method) {
  const auto own = by_drafting_.find(drafting_of(method));
  return own == by_drafting_.end() ? base_ : own->second;
}

void Workbench::run(const Method& method, const SuitePrompt& prompt, const SuiteRequest& how,
                    const std::atomic<bool>* cancel, const std::function<void(const Result&)>& on_turn,
                    const TokenCallback& on_token, const EngineAccess::Prepare& prepare) {
  Request request = request_for(how);
  request.cancel = cancel;
  request.speculation = method.speculation;
  if (how.chat && !how.system.empty()) request.messages.push_back({"system", how.system});
  const std::size_t turns = how.turns > 0 ? std::min(prompt.turns.size(), static_cast<std::size_t>(how.turns))
                                          : prompt.turns.size();
  for (std::size_t t = 0; t < turns; ++t) {
    if (how.chat) {
      request.messages.push_back({"user", prompt.turns[t]});
    } else {
      request.prompt += (t == 0 ? "" : "\n\n") + prompt.turns[t];
    }
    const Result result = EngineAccess::generate(engine(method), request, on_token, prepare);
    on_turn(result);
    if (result.finish_reason == FinishReason::Cancelled) return;
    if (how.chat) {
      request.messages.push_back({"assistant", result.text});
    } else {
      request.prompt += result.text;
    }
  }
}

std::string method_key(const Method& method, const std::string& default_draft_model) {
  std::uint64_t hash = hash_text(method.text);
  if (method.plain()) return hex(hash);
  const std::string& model = method.draft_model.empty() ? default_draft_model : method.draft_model;
  if (!model.empty()) hash = hash_part(model, hash);
  for (const fs::path& part : vocabulary_parts(method.speculation.draft_vocabulary, model)) {
    hash = hash_part(part, hash);
  }
  return hex(hash);
}

std::string prompt_key(const std::string& suite, const SuitePrompt& prompt) {
  std::uint64_t hash = hash_text(prompt.id, hash_text(suite));
  for (const std::string& turn : prompt.turns) hash = hash_text(turn, hash);
  return hex(hash);
}

}  // namespace augur
