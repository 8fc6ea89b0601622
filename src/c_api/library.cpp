#include <string>
#include <vector>

#include "augur/augur.h"
#include "augur/build_info.h"
#include "augur/engine.h"
#include "c_api/failure.h"
#include "c_api/structs.h"

using namespace augur::c_api;

const char* augur_version(void) {
  return augur::build_info().version.data();
}

const char* augur_commit(void) {
  return augur::build_info().commit.data();
}

int32_t augur_get_build_info(augur_build_info* info) {
  return status([&] {
    const augur::BuildInfo& from = augur::build_info();
    answer({.size = 0,
            .version = from.version.data(),
            .commit = from.commit.data(),
            .compiler = from.compiler.data(),
            .type = from.type.data(),
            .flags = from.flags.data()},
           info, "augur_build_info");
  });
}

int32_t augur_get_speculation_type(size_t index, augur_speculation_type* type) {
  static const std::vector<augur::SpeculationType> all = augur::speculation_types();
  return answer_one(index, all.size(), [&] {
    const augur::SpeculationType& from = all[index];
    answer({.size = 0,
            .name = from.name.c_str(),
            .alias = from.alias.c_str(),
            .needs_draft_model = from.needs_draft_model,
            .in_models = from.in_models,
            .summary = from.summary.c_str()},
           type, "augur_speculation_type");
  });
}

int32_t augur_get_speculation_policy(size_t index, augur_speculation_policy* policy) {
  static const std::vector<augur::SpeculationPolicy> all = augur::speculation_policies();
  return answer_one(index, all.size(), [&] {
    answer({.size = 0, .name = all[index].name.c_str(), .summary = all[index].summary.c_str()}, policy,
           "augur_speculation_policy");
  });
}
