#include "policies.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/error.h"
#include "python_calls.h"
#include "tuples.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

/// Prices of one round; of a round that is over, an Error of kind Misuse.
struct LentCosts {
  const RoundCosts* costs = nullptr;
  const RoundCosts& of_round() const {
    if (costs != nullptr) return *costs;
    throw Error(ErrorKind::Misuse, std::string("the round whose costs these are is over"));
  }
};

/// As augur.policies makes a DraftedTree of it.
nb::tuple tree_of(const DraftedTree& tree) {
  return nb::make_tuple(tuple_of(tree.tokens), tuple_of(tree.parents), tuple_of(tree.depths),
                        tuple_of(tree.log_probs), tuple_of(tree.scores), tuple_of(tree.proposers),
                        tuple_of(tree.entropies), tree.drawn);
}

/// A policy of Python's. `calls` is augur.policies' wrapper of it, which takes plain values.
class PythonPolicy final : public CustomPolicy {
 public:
  explicit PythonPolicy(Held calls) : calls_(std::move(calls)) {
    wants_entropies_ = nb::cast<bool>(calls_.get().attr("wants_entropies"));
    branches_ = nb::cast<bool>(calls_.get().attr("branches"));
  }
  ~PythonPolicy() override { end_round(); }
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;

  bool wants_entropies() const override { return wants_entropies_; }
  bool branches() const override { return branches_; }

  void begin(const PolicyRound& round) override {
    end_round();
    costs_ = std::make_shared<LentCosts>(LentCosts{round.costs});
    in_python([&] {
      calls_.get().attr("begin")(round.context, round.room, round.max_depth, round.levels, round.drafter,
                                 round.behind, round.tpot_ms, round.late_ms, nb::cast(Costs{costs_}));
    });
  }

  int grow(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    return in_python([&] {
      const nb::object answer = calls_.get().attr("grow")(tree_of(tree));
      nodes = nb::cast<std::vector<std::int32_t>>(answer[0]);
      return nb::cast<int>(answer[1]);
    });
  }

  void keep(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    in_python([&] {
      nodes = nb::cast<std::vector<std::int32_t>>(calls_.get().attr("keep")(tree_of(tree), nodes));
    });
  }

  void observe(const VerifiedRound& round) override {
    in_python([&] {
      calls_.get().attr("observe")(tree_of(round.tree), tuple_of(round.accepted), round.next, round.drafted,
                                   round.batch_rows, round.draft_ms, round.verify_ms, round.other_ms);
    });
    end_round();
  }

  void abandoned() override {
    end_round();
    in_python([&] { calls_.get().attr("abandoned")(); });
  }

  struct Costs {
    std::shared_ptr<LentCosts> lent;
  };

 private:
  void end_round() {
    if (costs_ != nullptr) costs_->costs = nullptr;
  }

  Held calls_;
  std::shared_ptr<LentCosts> costs_;
  bool wants_entropies_ = false;
  bool branches_ = true;
};

void add_policy(EngineOptions& to, std::string name, nb::object make, int most_nodes, int most_expanded,
                bool needs_costs) {
  CustomPolicyType type;
  type.name = std::move(name);
  type.make = [held = Held(std::move(make))](const PolicySetup& setup) {
    return in_python([&]() -> std::unique_ptr<CustomPolicy> {
      return std::make_unique<PythonPolicy>(Held(held.get()(setup.drafter, setup.traits, setup.settings)));
    });
  };
  type.most_nodes = most_nodes;
  type.most_expanded = most_expanded;
  type.needs_costs = needs_costs;
  to.custom_policies.push_back(std::move(type));
}

}  // namespace

void bind_policies(nb::module_& module, nb::class_<EngineOptions>& options) {
  nb::class_<DrafterTraits>(module, "DrafterTraits")
      .def(nb::init<>())
      .def_rw("one_shot", &DrafterTraits::one_shot)
      .def_rw("branching", &DrafterTraits::branching)
      .def_rw("has_probabilities", &DrafterTraits::has_probabilities)
      .def_rw("has_confidence", &DrafterTraits::has_confidence)
      .def_rw("learns", &DrafterTraits::learns)
      .def_rw("learns_across_sequences", &DrafterTraits::learns_across_sequences)
      .def_rw("max_depth", &DrafterTraits::max_depth);
  nb::class_<PythonPolicy::Costs>(module, "RoundCosts")
      .def(
          "verify_ms",
          [](const PythonPolicy::Costs& of, double rows) { return of.lent->of_round().verify_ms(rows); },
          nb::arg("rows"))
      .def(
          "draft_ms",
          [](const PythonPolicy::Costs& of, int level, int rows) {
            return of.lent->of_round().draft_ms(level, rows);
          },
          nb::arg("level"), nb::arg("rows"))
      .def("other_ms", [](const PythonPolicy::Costs& of) { return of.lent->of_round().other_ms(); });
  options.def("add_policy", &add_policy, nb::arg("name"), nb::arg("make"), nb::kw_only(),
              nb::arg("most_nodes"), nb::arg("most_expanded"), nb::arg("needs_costs"));
}

}  // namespace augur::python
