#include "cost/measured_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "augur/build_info.h"
#include "base/arithmetic_law.h"
#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "files/json_reader.h"

namespace augur {
namespace fs = std::filesystem;

namespace {

constexpr int kFormat = 2;  ///< of the files' contents: others are measured anew

}  // namespace

fs::path measured_folder(const std::string& cost_cache) {
  if (cost_cache == "none") return {};
  if (!cost_cache.empty()) return cost_cache;
  // The specification: a relative path is to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return fs::path(cache) / "augur" / "costs";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".cache" / "augur" / "costs";
  }
  return {};
}

nlohmann::json circumstances(const Backend& backend) {
  return {{"augur", std::string(build_info().version)},
          {"law", kArithmeticLaw},
          {"code", AUGUR_MEASURED_CODE},
          {"cpu", cpu_model_name()},
          {"isa", std::string(name(backend.kernels.isa))},
          {"threads", backend.pool.size()}};
}

std::string hash_text(std::string_view text) {
  Fnv1a hash;
  hash.add_bytes(text);
  return fmt::format("{:016x}", hash.value());
}

MeasuredFile::MeasuredFile(const fs::path& folder, std::string_view stem, const char* kind,
                           const nlohmann::json& circumstances)
    : kind_(kind), circumstances_(circumstances) {
  if (!folder.empty()) path_ = folder / fmt::format("{}-{}.json", stem, hash_text(circumstances.dump()));
}

nlohmann::json MeasuredFile::read() const {
  if (path_.empty()) return {};
  nlohmann::json found = read_json_object_if_exists(path_);
  if (found.empty()) return found;
  if (found.value(kind_, nlohmann::json()) != kFormat)
    throw Error("{}: {}: not {}", path_.string(), kind_, kFormat);
  if (found.value("for", nlohmann::json()) != circumstances_)
    throw Error("{}: for: another machine or model", path_.string());
  found.erase(kind_);
  found.erase("for");
  return found;
}

void MeasuredFile::write(nlohmann::json content) const {
  content[kind_] = kFormat;
  content["for"] = circumstances_;
  std::error_code problem;
  fs::create_directories(path_.parent_path(), problem);
  if (problem)
    throw Error(ErrorKind::NotFound, "{}: cannot create: {}", path_.parent_path().string(),
                problem.message());
  AtomicFile out(path_);
  out.write(content.dump(1) + "\n");
  out.commit();
}

}  // namespace augur
