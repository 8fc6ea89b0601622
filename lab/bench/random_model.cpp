#include "lab/bench/random_model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "files/safetensors_writer.h"
#include "model/weights.h"

namespace augur {
namespace {

struct Tensor {
  SafetensorsWriter::Entry entry;
  RowReader read;
};

/// Random weights, and a note of every tensor that was asked for.
class NotedWeights : public WeightSource {
 public:
  explicit NotedWeights(std::uint64_t seed) : random_(seed) {}

  RowReader open(const std::string& name, const Shape& shape) override {
    RowReader read = random_.open(name, shape);
    tensors_.push_back({{name, DType::BF16, shape}, read});
    return read;
  }

  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  RandomWeights random_;
  std::vector<Tensor> tensors_;
};

void write_tensor(SafetensorsWriter& writer, const Tensor& tensor) {
  const Shape& shape = tensor.entry.shape;
  const std::int64_t elements =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t rows = shape.size() < 2 ? 1 : shape[0];
  const std::int64_t length = elements / std::max<std::int64_t>(rows, 1);
  constexpr std::int64_t kElementsAtOnce = 1 << 20;
  const std::int64_t step =
      std::clamp<std::int64_t>(kElementsAtOnce / std::max<std::int64_t>(length, 1), 1, rows);
  std::vector<float> values(static_cast<std::size_t>(step * length));
  std::vector<BF16> rounded(values.size());
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t count = std::min(step, rows - row);
    tensor.read(row, count, values.data());
    std::transform(values.begin(), values.end(), rounded.begin(), to_bf16);
    writer.write(std::as_bytes(std::span(rounded).first(static_cast<std::size_t>(count * length))));
  }
}

}  // namespace

void write_random_weights(const ModelConfig& config, std::uint64_t seed, const std::filesystem::path& file,
                          const std::function<void(double)>& progress) {
  NotedWeights source(seed);
  packed_weight_bytes(config, {}, source);  // asks for every tensor, and reads none
  std::vector<SafetensorsWriter::Entry> entries;
  for (const Tensor& tensor : source.tensors()) entries.push_back(tensor.entry);
  SafetensorsWriter writer(file, entries);
  std::size_t done = 0;
  for (const Tensor& tensor : source.tensors()) {
    write_tensor(writer, tensor);
    done += 1;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(entries.size()));
  }
  writer.finish();
}

}  // namespace augur
