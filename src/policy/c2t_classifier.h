#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/fingerprint.h"

namespace augur {

/// C2T's classifier (Huo et al., 2025): sigmoid(fc2 relu(fc1 f + b1) + b2), the confidence that a drafted
/// token will be accepted, from what the tree knows of it. Immutable.
class C2tClassifier {
 public:
  /// What a node is described by.
  struct Features {
    double joint = 0;    ///< P: product of the probabilities along its path; logP: its logarithm
    double entropy = 0;  ///< H: of the law it came from, in nats, over the kEntropyTop largest probabilities
    double depth = 0;    ///< d: the root's children have 1
  };

  /// logP is at least that of this probability.
  static constexpr double kLeastJoint = 1e-12;

  /// Reads a folder: config {"features": some of "P", "logP", "H", "d", "hidden", optionally "scale": a
  /// factor for every feature}, tensors fc1, fc2. Another model of the target's family gives a warning,
  /// another family an Error. `target` null: not compared.
  static C2tClassifier read(const std::filesystem::path& folder, const Fingerprint* target,
                            std::string* warning = nullptr);

  double confidence(const Features& features) const;
  bool uses_entropy() const { return uses_entropy_; }

 private:
  enum class Feature { Joint, LogJoint, Entropy, Depth };
  static double value_of(Feature feature, const Features& features);

  std::vector<Feature> features_;
  bool uses_entropy_ = false;
  std::vector<float> scale_;  ///< by feature
  std::vector<float> fc1_;    ///< [hidden, features]
  std::vector<float> bias1_;  ///< [hidden]
  std::vector<float> fc2_;    ///< [hidden]
  float bias2_ = 0;
};

}  // namespace augur
