#include "drafters.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/error.h"
#include "python_calls.h"
#include "tuples.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

/// What Python may use of the engine's: the setup while the drafter is made, and from then until the
/// drafter's end the built-in one. Otherwise an Error of kind Misuse.
struct LentSetup {
  DrafterSetup* setup = nullptr;
  BuiltInDrafter* built_in = nullptr;
  bool drafter_lives = false;

  BuiltInDrafter& wrapped() const {
    if (built_in != nullptr && (setup != nullptr || drafter_lives)) return *built_in;
    throw Error(ErrorKind::Misuse, std::string("the drafter that this built-in one works for has ended"));
  }
};

/// Python's handle of a built-in drafter.
struct Wrapped {
  std::shared_ptr<LentSetup> lent;
};

/// A drafter of Python's. `calls` is augur.drafters' wrapper of it, which takes plain values.
class PythonDrafter final : public CustomDrafter {
 public:
  PythonDrafter(Held calls, std::shared_ptr<LentSetup> lent)
      : calls_(std::move(calls)),
        lent_(std::move(lent)),
        traits_(nb::cast<DrafterTraits>(calls_.get().attr("traits")())) {
    lent_->drafter_lives = true;
  }
  ~PythonDrafter() override { lent_->drafter_lives = false; }
  PythonDrafter(const PythonDrafter&) = delete;
  PythonDrafter& operator=(const PythonDrafter&) = delete;

  DrafterTraits traits() const override { return traits_; }

  void reset() override {
    in_python([&] { calls_.get().attr("reset")(); });
  }

  void accepted(std::span<const TokenId> tokens, int drafted) override {
    in_python([&] { calls_.get().attr("accepted")(tuple_of(tokens), drafted); });
  }

  void propose(const DraftRequest& request, std::vector<Proposal>& out) override {
    using Proposed = std::tuple<std::int32_t, TokenId, double>;
    in_python([&] {
      const LentBytes text(static_cast<const void*>(request.text.data()), request.text.size_bytes());
      const nb::object answer = calls_.get().attr("propose")(
          text.view(), tuple_of(request.tokens), tuple_of(request.parents), tuple_of(request.depths),
          tuple_of(request.frontier), request.most_children, request.most_nodes);
      for (const auto& [parent, token, log_prob] : nb::cast<std::vector<Proposed>>(answer)) {
        out.push_back({.parent = parent, .token = token, .log_prob = static_cast<float>(log_prob)});
      }
    });
  }

 private:
  Held calls_;
  std::shared_ptr<LentSetup> lent_;
  DrafterTraits traits_;
};

std::unique_ptr<CustomDrafter> made(const Held& make, DrafterSetup& setup) {
  auto lent = std::make_shared<LentSetup>(LentSetup{.setup = &setup});
  return in_python([&]() -> std::unique_ptr<CustomDrafter> {
    const auto built_in = nb::cpp_function([lent](const std::string& name) {
      if (lent->setup == nullptr) {
        throw Error(ErrorKind::Misuse,
                    std::string("built-in drafters are made while the drafter is, not later"));
      }
      const nb::gil_scoped_release others_run;
      lent->built_in = &lent->setup->built_in(name);
      return Wrapped{lent};
    });
    struct End {
      LentSetup& of;
      ~End() { of.setup = nullptr; }
    } const end{*lent};
    Held calls(make.get()(setup.context, setup.vocab, setup.settings, built_in));
    return std::make_unique<PythonDrafter>(std::move(calls), lent);
  });
}

void add_drafter(EngineOptions& to, std::string name, nb::object make, nb::object forget) {
  CustomDrafterType type;
  type.name = std::move(name);
  type.make = [held = Held(std::move(make))](DrafterSetup& setup) { return made(held, setup); };
  if (!forget.is_none()) {
    type.forget = [held = Held(std::move(forget))] { in_python([&] { held.get()(); }); };
  }
  to.custom_drafters.push_back(std::move(type));
}

}  // namespace

void bind_drafters(nb::module_& module, nb::class_<EngineOptions>& options) {
  nb::class_<Wrapped>(module, "BuiltInDrafter")
      .def("traits", [](const Wrapped& of) { return of.lent->wrapped().traits(); })
      .def(
          "draft",
          [](const Wrapped& of, const std::vector<std::int32_t>& nodes) {
            BuiltInDrafter& drafter = of.lent->wrapped();
            const nb::gil_scoped_release others_run;
            drafter.draft(nodes);
          },
          nb::arg("nodes"));
  options.def("add_drafter", &add_drafter, nb::arg("name"), nb::arg("make"), nb::kw_only(),
              nb::arg("forget").none());
}

}  // namespace augur::python
