#include "model/paired_rows.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/row_ops.h"

namespace augur {

void PairedRows::fill(Device& device, const Sources& sources, std::span<const TokenId> tokens,
                      const float* states) {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= sources.embedding->n()) {
      throw Error(ErrorKind::Internal, "embed: token {} is outside the vocabulary of {}", token,
                  sources.embedding->n());
    }
  }
  const std::int64_t width = sources.embedding->k();
  if (rows_.stride() != 2 * width) rows_ = RowBuffer(InputForm::F32, 2 * width, 1);
  rows_.ensure(std::ssize(tokens));
  state_offset_ = sources.state_first ? 0 : width;
  for_each_row(device.host(), std::ssize(tokens), 2 * width, [&](std::int64_t r) {
    float* embedding = rows_.floats(r) + (sources.state_first ? width : 0);
    float* state = rows_.floats(r) + state_offset_;
    device.read_row(*sources.embedding, tokens[static_cast<std::size_t>(r)], embedding);
    if (!sources.embedding_norm.empty()) {
      rms_norm(embedding, sources.embedding_norm.data(), sources.eps, width, InputForm::F32, embedding);
    }
    const float* given = states + r * width;
    if (sources.state_norm.empty()) {
      std::copy_n(given, width, state);
    } else {
      rms_norm(given, sources.state_norm.data(), sources.eps, width, InputForm::F32, state);
    }
  });
}

}  // namespace augur
