#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "c_api/handles.h"
#include "c_api/own_code.h"
#include "c_api/structs.h"

namespace augur::c_api {

/// What a built-in drafter is asked for, during the making of one of the caller's.
struct Maker {
  DrafterSetup& setup;
  augur_built_in_drafter* made = nullptr;
};
template <>
struct Behind<augur_drafter_maker> {
  using Object = Maker;
  static constexpr std::string_view kName = "drafter maker";
};
template <>
struct Behind<augur_built_in_drafter> {
  using Object = BuiltInDrafter;
  static constexpr std::string_view kName = "built-in drafter";
};

augur_drafter_traits traits_given(const DrafterTraits& from) {
  return {.size = sizeof(augur_drafter_traits),
          .one_shot = from.one_shot,
          .branching = from.branching,
          .has_probabilities = from.has_probabilities,
          .has_confidence = from.has_confidence,
          .learns = from.learns,
          .learns_across_sequences = from.learns_across_sequences,
          .max_depth = from.max_depth};
}

namespace {

DrafterTraits traits_of(const augur_drafter_traits& from) {
  return {.one_shot = from.one_shot != 0,
          .branching = from.branching != 0,
          .has_probabilities = from.has_probabilities != 0,
          .has_confidence = from.has_confidence != 0,
          .learns = from.learns != 0,
          .learns_across_sequences = from.learns_across_sequences != 0,
          .max_depth =
              static_cast<int>(std::clamp<std::int64_t>(from.max_depth, 0, std::numeric_limits<int>::max()))};
}

/// The functions of a type, and the drafter of one sequence that they have made.
class OwnDrafter final : public CustomDrafter {
 public:
  OwnDrafter(const augur_drafter_type& type, const std::string& name, DrafterSetup& setup)
      : type_(type), whose_("drafter @" + name + ": ") {
    augur_drafter_traits traits = traits_given(CustomDrafter::traits());
    const FlatSettings settings(setup.settings);
    const auto maker = std::make_shared<Maker>(Maker{.setup = setup});
    const augur_drafter_setup given = {.size = sizeof(augur_drafter_setup),
                                       .context = setup.context,
                                       .vocab = setup.vocab,
                                       .setting_keys = settings.keys.data(),
                                       .setting_values = settings.values.data(),
                                       .setting_count = settings.keys.size(),
                                       .maker = give<augur_drafter_maker>(maker)};
    forget_failure();
    own_ = type_.make(&given, &traits, type_.user);
    free_handle(given.maker);
    built_in_ = maker->made;
    if (own_ == nullptr) {
      free_handle(built_in_);
      throw_failed(whose_, "make");
    }
    traits_ = traits_of(traits);
  }
  ~OwnDrafter() override {
    destroy(type_, own_);
    free_handle(built_in_);
  }
  OwnDrafter(const OwnDrafter&) = delete;
  OwnDrafter& operator=(const OwnDrafter&) = delete;

  DrafterTraits traits() const override { return traits_; }
  void reset() override {
    if (type_.reset != nullptr)
      require_success(whose_, "reset", [&] { return type_.reset(own_, type_.user); });
  }
  void accepted(std::span<const TokenId> tokens, int drafted) override {
    if (type_.accepted == nullptr) return;
    require_success(whose_, "accepted",
                    [&] { return type_.accepted(own_, tokens.data(), tokens.size(), drafted, type_.user); });
  }
  void propose(const DraftRequest& request, std::vector<Proposal>& out) override {
    const augur_draft_request asked = {.size = sizeof(augur_draft_request),
                                       .text = request.text.data(),
                                       .text_count = request.text.size(),
                                       .tokens = request.tokens.data(),
                                       .parents = request.parents.data(),
                                       .depths = request.depths.data(),
                                       .node_count = request.tokens.size(),
                                       .frontier = request.frontier.data(),
                                       .frontier_count = request.frontier.size(),
                                       .most_children = request.most_children,
                                       .most_nodes = request.most_nodes};
    const auto capacity = static_cast<std::size_t>(std::max(request.most_nodes, 0));
    parents_.resize(capacity);
    tokens_.resize(capacity);
    log_probs_.resize(capacity);
    augur_proposals proposals = {.size = sizeof(augur_proposals),
                                 .capacity = capacity,
                                 .parents = parents_.data(),
                                 .tokens = tokens_.data(),
                                 .log_probs = log_probs_.data(),
                                 .count = 0};
    require_success(whose_, "propose", [&] { return type_.propose(own_, &asked, &proposals, type_.user); });
    if (proposals.count > capacity)
      throw Error(ErrorKind::Misuse, "{}{} proposals: expected at most {}", whose_, proposals.count,
                  capacity);
    for (std::size_t i = 0; i < proposals.count; ++i)
      out.push_back({.parent = parents_[i], .token = tokens_[i], .log_prob = log_probs_[i]});
  }

 private:
  const augur_drafter_type type_;
  const std::string whose_;  ///< in errors
  void* own_ = nullptr;
  augur_built_in_drafter* built_in_ = nullptr;  ///< null: it has none
  DrafterTraits traits_;
  // What a call of propose() writes to.
  std::vector<std::int32_t> parents_, tokens_;
  std::vector<float> log_probs_;
};

}  // namespace

CustomDrafterType drafter_type_of(const augur_drafter_type* given) {
  const augur_drafter_type type = complete(given, augur_drafter_type_default(), "augur_drafter_type");
  if (type.make == nullptr || type.propose == nullptr)
    throw Error(ErrorKind::Misuse, "augur_drafter_type: make or propose is NULL");
  CustomDrafterType to;
  to.name = text_or_empty(type.name);
  to.make = [type, name = to.name](DrafterSetup& setup) {
    return std::make_unique<OwnDrafter>(type, name, setup);
  };
  if (type.forget != nullptr) to.forget = [type] { type.forget(type.user); };
  return to;
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_drafter_type_init(augur_drafter_type* type, size_t size) {
  write_defaults(augur_drafter_type{}, type, size);
}

augur_built_in_drafter* augur_make_built_in_drafter(augur_drafter_maker* maker, const char* name,
                                                    augur_drafter_traits* traits) {
  return guarded([&] {
    const auto used = held(maker);
    augur::BuiltInDrafter& made = used->setup.built_in(text_or_empty(name));
    // It belongs to the sequence: the handle only names it.
    used->made = give<augur_built_in_drafter>(
        std::shared_ptr<augur::BuiltInDrafter>(&made, [](augur::BuiltInDrafter*) {}));
    if (traits != nullptr) answer(traits_given(made.traits()), traits, "augur_drafter_traits");
    return used->made;
  });
}

int32_t augur_built_in_drafter_draft(augur_built_in_drafter* drafter, const int32_t* nodes, size_t count) {
  return status([&] { held(drafter)->draft(array("nodes", nodes, count)); });
}
