#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace augur {

/// What a training will take, measured by a step that nothing is learnt from.
struct TrainingNeeds {
  std::int64_t tokens = 0;        ///< that are left to learn
  double tokens_a_second = 0;     ///< of the step; gradings and checkpoints come on top
  std::int64_t memory_bytes = 0;  ///< of this process's own, at its most so far; a GPU's is not in it
  std::int64_t device_bytes = 0;  ///< of tensors on a device that is not the CPU: it takes more for itself
  std::int64_t disk_bytes = 0;    ///< of the result's folder, while a checkpoint replaces another
  bool gradient_checkpointing = false;
  std::int64_t recomputed_bytes = 0;  ///< that gradient checkpointing does without; 0: it was not tried

  std::string summary() const;
};

/// The most memory that this process has had; 0 where the system does not tell.
std::int64_t peak_memory_bytes();

/// Error naming the folder where that much more than `there` does not fit.
void check_room(const std::filesystem::path& folder, std::int64_t needed, std::int64_t there);

/// "12 s", "3 min", "2 h 05 min".
std::string duration(double seconds);

}  // namespace augur
