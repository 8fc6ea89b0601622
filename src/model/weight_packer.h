#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "model/config.h"
#include "model/families.h"
#include "model/rotary_order.h"
#include "model/weights.h"

namespace augur {

/// Where the rows of a stored matrix go: row i to row offset + i / block * stride + i % block of the packed
/// one.
struct RowMap {
  std::int64_t offset = 0;
  std::int64_t block = 0;  ///< 0: all rows are one block
  std::int64_t stride = 0;

  /// Rows of a block, where `n` are mapped.
  std::int64_t block_of(std::int64_t n) const { return block > 0 ? block : n; }
  /// Where the i-th of `n` goes.
  std::int64_t row(std::int64_t i, std::int64_t n) const {
    return offset + i / block_of(n) * stride + i % block_of(n);
  }
};

/// A stored matrix [n, k], or n of its rows, that is to be part of a larger one.
struct MatrixPiece {
  std::string name;
  std::int64_t n = 0;
  RotaryOrder order = {};   ///< of its stored rows
  RowMap from = {};         ///< where row i is among the stored ones
  std::int64_t stored = 0;  ///< rows that are stored; 0: n

  bool whole() const { return stored == 0 || stored == n; }
};

/// Gathers the work of packing, so that it can be done by all threads at once. Names and shapes are checked
/// as tensors are asked for; matrices are read and packed by run(), so `target` must stay where it is, and
/// have been given memory by reserve(), by then.
class WeightPacker {
 public:
  WeightPacker(WeightForm form, WeightSource& source) : form_(form), source_(source) {}

  /// A stored matrix [n, k], into the rows of `target` that `map` says.
  void matrix(PackedMatrix& target, const std::string& name, std::int64_t n, std::int64_t k,
              const RowMap& map = {});
  /// A vector, read at once.
  void vector(std::vector<float>& target, const std::string& name, std::int64_t n);
  /// -exp of what is stored as `logarithm`, or, where the source has that, what is stored as `name`,
  /// likewise.
  void decay(std::vector<float>& target, const std::string& logarithm, const std::string& name,
             std::int64_t n);
  /// Those of a short convolution, stored as [channels, 1, taps], as [taps, channels], likewise. `stored`:
  /// where channel i is among the stored ones; empty: in its place.
  void taps(std::vector<float>& target, const std::string& name, std::int64_t channels, std::int64_t taps,
            const std::vector<std::int64_t>& stored = {});
  /// The weights of a norm, likewise.
  void norm(std::vector<float>& target, const std::string& name, std::int64_t n, float offset);
  /// A bias, mapped as the rows of its matrix are; `target` has its size already.
  void bias(std::vector<float>& target, const std::string& name, std::int64_t n, const RowMap& map = {},
            const RotaryOrder& order = {});

  /// Makes `target` what all that was asked for it goes into, in memory beside this packer's other matrices:
  /// of the type that all of it keeps or is quantised to, where that is one, otherwise of the form's
  /// floats.
  void reserve(PackedMatrix& target, std::int64_t n, std::int64_t k);
  /// A whole matrix in float32, whatever the form; takes care of the memory, too.
  void exact(PackedMatrix& target, const std::string& name, std::int64_t n, std::int64_t k);
  /// The same of pieces [n, k] one below the other, each from a whole panel on.
  void exact(PackedMatrix& target, std::span<const MatrixPiece> pieces, std::int64_t k);

  /// Pieces [n, k] one below the other. Their types may differ; pieces that are no whole panels, or of which
  /// only some would be quantised, become floats. Takes care of the memory, too.
  void fused(FusedMatrix& target, std::span<const MatrixPiece> pieces, std::int64_t k);

  const WeightSource& source() const { return source_; }
  std::int64_t reserved_bytes() const { return reserved_bytes_; }

  /// Reads and packs all matrices with all threads of the pool, or takes those that another engine of this
  /// process has of the same source (base/shared_parts.h). Error before anything large is read when the
  /// weights exceed this machine's memory. May throw what the readers throw.
  void run(ThreadPool& pool, const std::function<void(double)>& progress);
  void run(Backend& backend, const std::function<void(double)>& progress) { run(backend.pool, progress); }

 private:
  struct Job {
    PackedMatrix* target;
    RowReader read;
    std::optional<StoredRows> stored;  ///< where the target may take it as it is
    std::int64_t rows;
    std::int64_t k;
    RowMap map;
    std::string from;  ///< which rows of the source these are: the tensor's name, and their order

    std::int64_t row(std::int64_t i) const { return map.row(i, rows); }
  };
  RowReader open(const MatrixPiece& piece, std::int64_t k);
  /// A matrix that keeps its stored values.
  std::optional<StoredRows> stored(const std::string& name) const;
  void allocate(PackedMatrix& target, DType type, std::int64_t n, std::int64_t k);
  /// All that the packed matrices' bytes depend on; empty where the source does not say what it reads.
  std::string recipe() const;
  void pack_all(ThreadPool& pool, const std::function<void(double)>& progress) const;
  static void pack(const Job& job, std::int64_t first, std::int64_t count, std::vector<float>& scratch);
  static void pack_stored(const Job& job, std::int64_t first, std::int64_t count);

  WeightForm form_;
  WeightArena arena_;
  std::int64_t reserved_bytes_ = 0;
  WeightSource& source_;
  std::vector<PackedMatrix*> targets_;  ///< that were given memory
  std::vector<Job> jobs_;
  std::map<std::string, RowReader> opened_;  ///< for pieces: several take rows of one matrix
};

/// Where a decoder layer differs from those of a model.
struct LayerForm {
  bool attention_norm = true;         ///< false: LayerWeights::attention_norm stays empty
  std::int64_t attention_inputs = 0;  ///< width of what the q, k, v products read; 0: config.hidden
};

/// Asks for the tensors of the configuration's layer `index`, whose names begin with `prefix`
/// ("model.layers.3."). `layer` must stay where it is until run().
void pack_layer(WeightPacker& packer, const ModelConfig& config, int index, const std::string& prefix,
                LayerWeights& layer, const LayerForm& form = {});

}  // namespace augur
