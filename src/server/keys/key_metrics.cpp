#include "server/keys/key_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdint>

#include "base/utf8.h"
#include "server/endpoint.h"
#include "server/keys/key_account.h"

namespace augur {
namespace {

/// Of one answer to who asks: the counts are the accounts' own.
class KeyFamilies {
 public:
  explicit KeyFamilies(const std::string& model) : model_(to_valid_utf8(model)) {}

  void add(const KeyAccount& account) {
    const KeyCounts counts = account.counts();
    const prometheus::Labels key = {{"key", account.name()}};
    count("augur:key_requests_total", "Requests that were let in, by key.", key, counts.requests);
    count("augur:key_prompt_tokens_total", "Tokens of prompts, by key.", key, counts.prompt_tokens);
    count("augur:key_generation_tokens_total", "Tokens that were generated, by key.", key,
          counts.generated_tokens);
    const auto refused = [&](const char* limit, std::int64_t requests) {
      count("augur:key_refused_total", "Requests beyond a key's limits.",
            {{"key", account.name()}, {"limit", limit}}, requests);
    };
    refused("requests", counts.refused_answers);
    refused("tokens-per-minute", counts.refused_tokens);
    prometheus::BuildGauge()
        .Name("augur:key_answers_running")
        .Help("Answers that are generated or wait for it, by key.")
        .Labels({{"model_name", model_}})
        .Register(registry_)
        .Add(key)
        .Set(static_cast<double>(counts.running));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

 private:
  void count(const char* name, const char* help, const prometheus::Labels& labels, std::int64_t value) {
    prometheus::BuildCounter()
        .Name(name)
        .Help(help)
        .Labels({{"model_name", model_}})
        .Register(registry_)
        .Add(labels)
        .Increment(static_cast<double>(value));
  }

  const std::string model_;
  prometheus::Registry registry_{prometheus::Registry::InsertBehavior::Merge};
};

}  // namespace

std::string key_metrics(const Served& served) {
  KeyFamilies families(served.options.model);
  for (const auto& account : served.keys.all()) {
    if (served.caller.sees_all || account == served.caller.key.account) families.add(*account);
  }
  return families.text();
}

}  // namespace augur
