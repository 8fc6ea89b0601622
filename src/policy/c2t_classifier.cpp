#include "policy/c2t_classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/elementary.h"
#include "base/error.h"
#include "files/json_fields.h"
#include "model/part_folder.h"

namespace augur {

namespace {
// In the order of C2tClassifier::Feature.
constexpr std::array<std::string_view, 4> kNames = {"P", "logP", "H", "d"};
constexpr const char* kExpected = "expected a list of some of P, logP, H, d";
}  // namespace

C2tClassifier C2tClassifier::read(const std::filesystem::path& folder, const Fingerprint* target,
                                  std::string* warning) {
  constexpr std::int64_t kMostHidden = 4096;
  const PartFolder part(folder, "c2t");
  const std::string said = part.check_target(target, Strictness::SameFamily);
  if (warning != nullptr) *warning = said;
  const JsonFields& fields = part.config();

  C2tClassifier out;
  const nlohmann::json* features = fields.find("features");
  if (features == nullptr || !features->is_array() || features->empty()) {
    fields.fail("features", kExpected);
  }
  for (const nlohmann::json& item : *features) {
    const std::string name = item.is_string() ? item.get<std::string>() : "";
    const auto known = std::find(kNames.begin(), kNames.end(), name);
    if (known == kNames.end()) fields.fail("features", kExpected);
    const auto feature = static_cast<Feature>(known - kNames.begin());
    if (std::find(out.features_.begin(), out.features_.end(), feature) != out.features_.end()) {
      fields.fail("features", fmt::format("names {} twice", name));
    }
    out.features_.push_back(feature);
    out.uses_entropy_ = out.uses_entropy_ || feature == Feature::Entropy;
  }
  out.scale_.assign(out.features_.size(), 1.0f);
  if (const nlohmann::json* scale = fields.find("scale")) {
    if (!scale->is_array() || scale->size() != out.scale_.size()) {
      fields.fail("scale", fmt::format("expected {} numbers", out.scale_.size()));
    }
    for (std::size_t i = 0; i < out.scale_.size(); ++i) {
      if (!(*scale)[i].is_number() || !std::isfinite((*scale)[i].get<float>())) {
        fields.fail("scale", "expected finite numbers");
      }
      out.scale_[i] = (*scale)[i].get<float>();
    }
  }
  const std::int64_t hidden = fields.require_int("hidden", kMostHidden);
  out.fc1_ = part.floats("fc1.weight", {hidden, static_cast<std::int64_t>(out.features_.size())});
  out.bias1_ = part.floats("fc1.bias", {hidden});
  out.fc2_ = part.floats("fc2.weight", {1, hidden});
  out.bias2_ = part.floats("fc2.bias", {1}).front();
  return out;
}

double C2tClassifier::value_of(Feature feature, const Features& features) {
  switch (feature) {
    case Feature::Joint:
      return features.joint;
    case Feature::LogJoint:
      return elementary::log(std::max(features.joint, kLeastJoint));
    case Feature::Entropy:
      return features.entropy;
    case Feature::Depth:
      return features.depth;
  }
  return 0;
}

double C2tClassifier::confidence(const Features& features) const {
  // In double: no finite weights make a sum overflow.
  double x[kNames.size()] = {};
  for (std::size_t f = 0; f < features_.size(); ++f) {
    x[f] = value_of(features_[f], features) * static_cast<double>(scale_[f]);
  }
  auto logit = static_cast<double>(bias2_);
  for (std::size_t h = 0; h < fc2_.size(); ++h) {
    auto sum = static_cast<double>(bias1_[h]);
    for (std::size_t f = 0; f < features_.size(); ++f) {
      sum += static_cast<double>(fc1_[h * features_.size() + f]) * x[f];
    }
    logit += static_cast<double>(fc2_[h]) * std::max(sum, 0.0);
  }
  return 1.0 / (1.0 + elementary::exp(-logit));
}

}  // namespace augur
