#include "processors.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "python_calls.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

/// One logits processor of Python's; all copies of a request share it.
struct Processor {
  std::shared_ptr<std::optional<Held>> call;

  void operator()(std::span<const TokenId> tokens, std::span<float> row) const {
    in_python([&] {
      const LentBytes ids(static_cast<const void*>(tokens.data()), tokens.size_bytes());
      const LentBytes logits(static_cast<void*>(row.data()), row.size_bytes());
      call->value().get()(ids.view(), logits.view());
    });
  }
};

}  // namespace

void add_logits_processor(Request& to, nb::object call) {
  to.logits_processors.push_back(Processor{std::make_shared<std::optional<Held>>(Held(std::move(call)))});
}

std::function<void()> end_of_processors(const Request& request) {
  std::vector<Processor> all;
  for (const LogitsProcessor& one : request.logits_processors) {
    if (const auto* known = one.target<Processor>()) all.push_back(*known);
  }
  return [all = std::move(all)] {
    for (const Processor& one : all) one.call->reset();
  };
}

}  // namespace augur::python
