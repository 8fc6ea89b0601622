#include "lab/train/part_writer.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"

namespace augur {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace

void write_part(const std::filesystem::path& folder, const std::string& part, const TraceHeader& traces,
                const nlohmann::json& fields, const NamedTensors& tensors, const std::string& card) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("{}: cannot be made: {}", folder.string(), error.message());
  nlohmann::json config = fields;
  config["augur_part"] = part;
  config["format"] = 1;
  config[kPartTargetKey] = to_json(traces.target);
  config["drafter"] = traces.drafter;
  if (!tensors.empty()) save_tensors(folder / "model.safetensors", tensors);
  write_text(folder / "README.md", card);
  write_text(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace augur
