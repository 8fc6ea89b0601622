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

fs::path measured_file(const fs::path& folder, std::string_view stem, const nlohmann::json& circumstances) {
  if (folder.empty()) return {};
  return folder / fmt::format("{}-{}.json", stem, hash_text(circumstances.dump()));
}

std::string hash_text(std::string_view text) {
  Fnv1a hash;
  hash.add_bytes(text);
  return fmt::format("{:016x}", hash.value());
}

nlohmann::json read_measured(const fs::path& file, const char* kind, int format,
                             const nlohmann::json& circumstances) {
  nlohmann::json found = read_json_object_if_exists(file);
  if (found.empty()) return found;
  if (found.value(kind, nlohmann::json()) != format)
    throw Error("{}: {}: not {}", file.string(), kind, format);
  if (found.value("for", nlohmann::json()) != circumstances)
    throw Error("{}: for: another machine or model", file.string());
  return found;
}

void write_measured(const fs::path& file, const nlohmann::json& content) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem) throw Error("{}: cannot create: {}", file.parent_path().string(), problem.message());
  AtomicFile out(file);
  out.write(content.dump(1) + "\n");
  out.commit();
}

}  // namespace augur
