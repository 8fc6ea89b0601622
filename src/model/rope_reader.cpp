#include "model/rope_reader.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/elementary.h"
#include "base/error.h"
#include "model/config_bounds.h"

namespace augur {

namespace {

using Fields = JsonFields;

/// As Hugging Face derives it: attention_factor when given, else from mscale and mscale_all_dim when both
/// are.
double yarn_attention_factor(const Fields& scaling, double factor) {
  if (const auto given = scaling.find_number("attention_factor", 1e-6, 1e6)) return *given;
  const auto mscale = scaling.find_number("mscale", 0, 1e6).value_or(0);
  const auto all_dim = scaling.find_number("mscale_all_dim", 0, 1e6).value_or(0);
  if (mscale == 0 || all_dim == 0 || factor <= 1) return 0;
  return (0.1 * mscale * elementary::log(factor) + 1) / (0.1 * all_dim * elementary::log(factor) + 1);
}

std::vector<double> frequency_factors(const Fields& scaling, const char* key, int dims) {
  const nlohmann::json* list = scaling.find(key);
  const auto expected = static_cast<std::size_t>(dims / 2);
  if (list == nullptr || !list->is_array() || list->size() != expected) {
    scaling.fail(key, fmt::format("expected {} numbers", expected));
  }
  std::vector<double> factors;
  for (const nlohmann::json& value : *list) {
    if (!value.is_number() || !(value.get<double>() > 0) || !(value.get<double>() <= kMaxFactor)) {
      scaling.fail(key, "expected positive numbers");
    }
    factors.push_back(value.get<double>());
  }
  return factors;
}

/// One kind of scaling, read from its object.
class ScalingReader {
 public:
  ScalingReader(const Fields& model, const Fields& scaling, const RopeSource& source, RopeConfig& out)
      : model_(model),
        scaling_(scaling),
        source_(source),
        dims_(out.dims > 0 ? out.dims : source.head_dim),
        out_(out) {}

  void read(const std::string& kind) {
    if (kind == "default") return;
    if (kind == "frequency_factors") {
      out_.scaling = RopeConfig::Scaling::Factors;
      out_.factors = frequency_factors(scaling_, "factors", dims_);
    } else if (kind == "linear") {
      out_.scaling = RopeConfig::Scaling::Linear;
      out_.factor = factor();
      out_.original_context = source_.max_positions;
    } else if (kind == "dynamic" && source_.fixed_alpha && scaling_.find("alpha") != nullptr) {
      if (dims_ <= 2) scaling_.fail("rope_type", "alpha needs heads of more than 2 dimensions");
      const double alpha = scaling_.require_number("alpha", 1, kMaxFactor);
      out_.theta *= elementary::pow(alpha, static_cast<double>(dims_) / (dims_ - 2));
      if (out_.theta > kMaxTheta) {
        scaling_.fail("alpha", fmt::format("makes a base of {}, expected at most {}", out_.theta, kMaxTheta));
      }
    } else if (kind == "dynamic") {
      if (dims_ <= 2) scaling_.fail("rope_type", "dynamic needs heads of more than 2 dimensions");
      out_.scaling = RopeConfig::Scaling::Dynamic;
      out_.factor = factor();
      out_.original_context = source_.max_positions;
    } else if (kind == "llama3") {
      read_llama3();
    } else if (kind == "yarn") {
      read_yarn();
    } else if (kind == "longrope" || kind == "su") {
      read_longrope();
    } else {
      scaling_.fail(
          "rope_type",
          fmt::format("{:?} is not supported (default, linear, dynamic, llama3, yarn, longrope)", kind),
          ErrorKind::Unsupported);
    }
  }

 private:
  double factor() const { return scaling_.require_number("factor", 1, kMaxFactor); }
  std::optional<std::int64_t> original_context() const {
    if (const auto here = scaling_.find_int("original_max_position_embeddings", kMaxContext)) return here;
    return model_.find_int("original_max_position_embeddings", kMaxContext);
  }

  void read_llama3() {
    out_.scaling = RopeConfig::Scaling::Llama3;
    out_.factor = factor();
    out_.low_freq_factor = scaling_.require_number("low_freq_factor", 1e-6, kMaxFactor);
    out_.high_freq_factor = scaling_.require_number("high_freq_factor", 1e-6, kMaxFactor);
    if (out_.high_freq_factor <= out_.low_freq_factor) {
      scaling_.fail("high_freq_factor", "must exceed low_freq_factor");
    }
    const auto original = original_context();
    if (!original) scaling_.fail("original_max_position_embeddings", "missing");
    out_.original_context = *original;
  }

  void read_yarn() {
    const auto original = original_context();
    out_.scaling = RopeConfig::Scaling::Yarn;
    out_.original_context = original.value_or(source_.max_positions);
    // A null factor with an original context means their ratio (DeepSeek-V3 writes it so).
    out_.factor = scaling_.find("factor") == nullptr && original
                      ? static_cast<double>(source_.max_positions) / static_cast<double>(*original)
                      : factor();
    out_.attention_factor = yarn_attention_factor(scaling_, out_.factor);
    out_.beta_fast = scaling_.find_number("beta_fast", 1e-6, 1e6).value_or(out_.beta_fast);
    out_.beta_slow = scaling_.find_number("beta_slow", 1e-6, 1e6).value_or(out_.beta_slow);
    out_.truncate = scaling_.flag("truncate", true);
  }

  void read_longrope() {
    out_.scaling = RopeConfig::Scaling::Factors;
    out_.factors = frequency_factors(scaling_, "short_factor", dims_);
    out_.long_factors = frequency_factors(scaling_, "long_factor", dims_);
    out_.original_context = original_context().value_or(source_.max_positions);
    for (const char* key : {"short_mscale", "long_mscale"}) {
      if (scaling_.find(key) != nullptr) scaling_.fail(key, "is not supported", ErrorKind::Unsupported);
    }
    const auto original = static_cast<double>(out_.original_context);
    const double factor = scaling_.find_number("factor", 1, kMaxFactor)
                              .value_or(std::max(1.0, static_cast<double>(source_.max_positions) / original));
    const double derived =
        factor <= 1 || original <= 1 ? 1 : std::sqrt(1 + elementary::log(factor) / elementary::log(original));
    out_.attention_factor = scaling_.find_number("attention_factor", 1e-6, 1e6).value_or(derived);
  }

  const Fields& model_;
  const Fields& scaling_;
  const RopeSource& source_;
  int dims_;
  RopeConfig& out_;
};

/// The object that has the scaling, and in newer files theta, too.
std::optional<Fields> parameters(const Fields& fields, const RopeSource& source) {
  if (fields.find("rope_parameters") == nullptr) {
    return source.scaled ? fields.find_object("rope_scaling") : std::nullopt;
  }
  const auto all = fields.find_object("rope_parameters");
  if (all->find("full_attention") == nullptr && all->find("sliding_attention") == nullptr) {
    return source.scaled ? all : std::nullopt;
  }
  auto own = all->find_object(source.layer_type);
  if (!own) all->fail(source.layer_type, "missing");
  return own;
}

int rotated_dims(const Fields& fields, int head_dim, double share) {
  const double part = fields.find_number("partial_rotary_factor", 0, 1).value_or(share);
  if (part == 1) return 0;
  const int dims = static_cast<int>(part * head_dim + 1e-6);
  if (dims < 2 || dims % 2 != 0) {
    fields.fail("partial_rotary_factor",
                fmt::format("expected an even number of rotated dimensions, found {} of {}", dims, head_dim));
  }
  return dims;
}

}  // namespace

RopeConfig read_rope(const JsonFields& fields, const RopeSource& source) {
  RopeConfig rope;
  rope.theta = fields.find_number(source.theta_key, 1.0 + 1e-6, kMaxTheta).value_or(source.default_theta);
  rope.dims = rotated_dims(fields, source.head_dim, source.rotary_share);
  const auto scaling = parameters(fields, source);
  if (!scaling) return rope;
  rope.theta = scaling->find_number("rope_theta", 1.0 + 1e-6, kMaxTheta).value_or(rope.theta);
  if (scaling->find("partial_rotary_factor") != nullptr) {
    rope.dims = rotated_dims(*scaling, source.head_dim, source.rotary_share);
  }
  auto type = scaling->find_string("rope_type");
  if (!type) type = scaling->find_string("type");
  ScalingReader(fields, *scaling, source, rope).read(type.value_or("default"));
  return rope;
}

QueryGrowth read_query_growth(const JsonFields& fields, bool read) {
  constexpr const char* kBeta = "llama_4_scaling_beta";
  const auto newer = fields.find_object("rope_parameters");
  const auto parameters = newer ? newer : fields.find_object("rope_scaling");
  if (read && !fields.has("rope_parameters") && !fields.has("rope_scaling")) {
    fields.fail("rope_parameters", "missing");
  }
  if (!parameters || parameters->find(kBeta) == nullptr) return {};
  if (!read) parameters->fail(kBeta, "is not supported for this model_type", ErrorKind::Unsupported);
  const double beta = parameters->require_number(kBeta, 0, kMaxScale);
  if (beta == 0) return {};
  return {.beta = beta, .step = parameters->require_int("original_max_position_embeddings", kMaxContext)};
}

}  // namespace augur
