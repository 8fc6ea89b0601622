#include "draft/formats/head_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

HeadFile::HeadFile(const Checkpoint& head, const std::string& stem)
    : owned_(open_heads_file(head.path(), stem)), store_(owned_ ? owned_.get() : &head.weights()) {}

void require_stated(const DrafterSource& source, const char* key, std::int64_t found) {
  const nlohmann::json& config = source.head->config();
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) return;
  if (!it->is_number_integer() || *it != found) {
    throw Error("{}: {} is {}, but its weights have {}", source.head->path().string(), key, it->dump(),
                found);
  }
}

bool shares_target_head(const DrafterSource& source) {
  const nlohmann::json& config = source.head->config();
  const auto it = config.find("shares_target_head");
  if (it == config.end() || it->is_null()) return false;
  if (!it->is_boolean()) {
    throw Error("{}: shares_target_head: expected true or false, found {}", source.head->path().string(),
                it->dump());
  }
  return it->get<bool>();
}

void require_fit(const DrafterSource& source, const WeightStore& store, const std::string& block,
                 const std::string& output) {
  const auto size = [&](const std::string& matrix) -> std::int64_t {
    const StoredTensor* tensor = store.find(matrix + ".weight");
    if (tensor == nullptr) throw Error("{}: tensor {}.weight is missing", store.description(), matrix);
    return tensor->shape.empty() ? 0 : tensor->shape.front();
  };
  const ModelConfig& target = source.target.config();
  if (const std::int64_t hidden = size(block); hidden != target.hidden) {
    throw Error("{}: the heads are made for hidden states of {}, those of {} have {}", store.description(),
                hidden, source.target_path, target.hidden);
  }
  if (output.empty()) {
    // The target's own head fits.
  } else if (const std::int64_t vocab = size(output); vocab != target.vocab) {
    throw Error("{}: the heads are made for {} tokens, {} has {}", store.description(), vocab,
                source.target_path, target.vocab);
  }
  check_fingerprint(source.head->path().string(), source.head->config(), source.target.fingerprint(),
                    Strictness::SameModel);
}

}  // namespace augur
