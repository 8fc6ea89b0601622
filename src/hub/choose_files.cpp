#include "hub/choose_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "files/gguf/split.h"

namespace augur {

namespace {

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// A model itself; of a split one the first part, which stands for all.
bool is_model(std::string_view path) {
  constexpr std::array<std::string_view, 6> kOthers = {"mmproj",  "imatrix", "mtp-",
                                                       "eagle3-", "dflash-", "dspark-"};
  const std::string_view name = name_of(path);
  if (!name.ends_with(".gguf")) return false;
  if (const auto split = parse_split_name(name); split && split->number != 1) return false;
  return std::none_of(kOthers.begin(), kOthers.end(),
                      [&](std::string_view other) { return name.find(other) != std::string_view::npos; });
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

/// Whether a path has the word `quant`, with one of `ends` behind it: "Q4_0" is in "m-q4_0.gguf" with ".-",
/// and in "Q4_0/m.gguf" with "/", not in "m-IQ4_0.gguf".
bool has_quant(std::string_view path, std::string_view quant, std::string_view ends) {
  for (std::size_t i = 0; i + quant.size() < path.size(); ++i) {
    const char behind = path[i + quant.size()];
    const bool same = std::equal(quant.begin(), quant.end(), path.begin() + static_cast<std::ptrdiff_t>(i),
                                 [](char a, char b) { return lower(a) == lower(b); });
    if (same && ends.find(behind) != std::string_view::npos && (i == 0 || !is_word(path[i - 1]))) return true;
  }
  return false;
}

std::string list_of(const std::vector<std::string>& paths) {
  constexpr std::size_t kMost = 20;
  std::string text =
      fmt::format("{}", fmt::join(paths.begin(), paths.begin() + std::min(kMost, std::size(paths)), ", "));
  if (paths.size() > kMost) text += ", ...";
  return text;
}

/// Where there is none that was asked for, what there is.
std::optional<std::string> find_quant(const std::vector<std::string>& models, const HubModel& model) {
  const auto find = [&](std::string_view quant) {
    auto found = models.end();
    for (const char* ends : {".-", "/"}) {  // files' names say it, or the folders' that they lie in
      if (found != models.end()) break;
      found = std::find_if(models.begin(), models.end(),
                           [&](const std::string& path) { return has_quant(path, quant, ends); });
    }
    return found;
  };
  if (!model.quant.empty() && model.quant != "latest") {  // Ollama's word for any
    const auto found = find(model.quant);
    if (found == models.end()) {
      throw Error(ErrorKind::Unsupported, "{}: has no GGUF file of {}{}", model.repository, model.quant,
                  models.empty() ? "" : "; it has " + list_of(models));
    }
    return *found;
  }
  for (const char* usual : {"Q4_K_M", "Q8_0"}) {
    if (const auto found = find(usual); found != models.end()) return *found;
  }
  if (models.empty()) return std::nullopt;
  return models.front();
}

/// A GGUF file with its other parts.
HubChoice with_parts(const std::vector<std::string>& paths, const HubModel& model, const std::string& file) {
  HubChoice choice{.files = {file}, .model = file};
  auto split = parse_split_name(file);
  if (!split || split->count == 1) return choice;
  choice.files.clear();
  for (split->number = 1; split->number <= split->count; ++split->number) {
    choice.files.push_back(split_name(*split));
    if (!std::binary_search(paths.begin(), paths.end(), choice.files.back())) {
      throw Error(ErrorKind::NotFound, "{}: {} is missing: part {} of {} of {}", model.repository,
                  choice.files.back(), split->number, split->count, file);
    }
  }
  choice.model = choice.files.front();
  return choice;
}

/// What Checkpoint reads of a folder; of weights that are there in several forms the one that it takes.
HubChoice folder_of(const std::vector<std::string>& paths) {
  constexpr std::array<std::string_view, 9> kAround = {
      "config.json",        "generation_config.json",  "tokenizer.json",
      "tokenizer.model",    "tokenizer_config.json",   "chat_template.jinja",
      "chat_template.json", "special_tokens_map.json", "added_tokens.json"};
  const auto has = [&](std::string_view path) {
    return std::binary_search(paths.begin(), paths.end(), path);
  };
  HubChoice choice;
  for (const std::string_view file : kAround) {
    if (has(file)) choice.files.emplace_back(file);
  }
  const auto add_shards = [&](std::string_view index, std::string_view ending) {
    choice.files.emplace_back(index);
    for (const std::string& path : paths) {
      const bool shard = path.find('/') == std::string::npos && path.find("-of-") != std::string::npos;
      if (shard && path.ends_with(ending)) choice.files.push_back(path);
    }
  };
  for (const auto& [whole, index, ending] :
       {std::array<std::string_view, 3>{"model.safetensors", "model.safetensors.index.json", ".safetensors"},
        {"pytorch_model.bin", "pytorch_model.bin.index.json", ".bin"}}) {
    if (has(whole)) return choice.files.emplace_back(whole), choice;
    if (has(index)) return add_shards(index, ending), choice;
  }
  for (const char* heads :
       {"medusa_lm_head.pt", "medusa_lm_head.safetensors", "hydra_lm_head.pt", "hydra_lm_head.safetensors"}) {
    if (has(heads)) return choice.files.emplace_back(heads), choice;
  }
  return choice;
}

}  // namespace

HubChoice choose_files(const std::vector<std::string>& paths, const HubModel& model) {
  if (!model.file.empty()) {
    if (!std::binary_search(paths.begin(), paths.end(), model.file)) {
      throw Error(ErrorKind::NotFound, "{}: has no file {}; it has {}", model.repository, model.file,
                  list_of(paths));
    }
    return with_parts(paths, model, model.file);
  }
  std::vector<std::string> models;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(models), is_model);
  if (const auto found = find_quant(models, model)) return with_parts(paths, model, *found);
  HubChoice folder = folder_of(paths);
  if (folder.files.empty()) {
    throw Error(ErrorKind::NotFound,
                "{}: holds no model: expected a GGUF file, or config.json with weights; it has {}",
                model.repository, paths.empty() ? "no files" : list_of(paths));
  }
  return folder;
}

}  // namespace augur
