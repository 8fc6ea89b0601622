#include "model/cpu_stack.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "kernels/attention.h"
#include "model/forward_pass.h"
#include "model/layer_stack.h"
#include "model/recurrent_pass.h"

namespace augur {

namespace {

std::vector<InputForm> input_forms(const std::vector<LayerWeights>& layers) {
  std::vector<InputForm> forms;
  const auto add = [&](InputForm form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  for (const LayerWeights& layer : layers) {
    for_each_matrix(layer, {}, [&](const PackedMatrix& m, double) { add(m.input_form()); });
  }
  return forms;
}

std::int64_t panels_of(const RowProduct& product) {
  return product.runs.empty() ? product.matrix->panels() : count_panels(product.runs);
}

}  // namespace

void prepare_top(const Backend& backend, const RowProduct& product, int rows) {
  if (product.top == nullptr) return;
  assert(!product.runs.empty());
  product.top->prepare(backend.pool.size(), rows, panels_of(product), product.best);
}

void multiply_rows(const Team& team, const KernelSet& kernels, const RowProduct& product,
                   const ReadyRows& rows) {
  const GemmCall call{.weight = product.matrix,
                      .x = rows.x,
                      .x_stride = rows.stride,
                      .rows = rows.count,
                      .y = product.out,
                      .y_stride = product.out_stride,
                      .bias = product.bias.empty() ? nullptr : product.bias.data()};
  if (product.top != nullptr) {
    product.top->multiply(team, kernels, call, product.runs, product.columns, product.form);
  }
  if (product.out == nullptr) return;
  const Range panels = team.split(panels_of(product));
  if (product.runs.empty()) {
    kernels.gemm(call, panels);
  } else {
    gemm_runs(kernels, call, product.runs, panels);
  }
  constexpr std::int64_t kWidth = PackedMatrix::kPanel;
  for (int r = 0; r < rows.count; ++r) {
    product.form.apply(product.out + r * product.out_stride + panels.begin * kWidth, panels.size() * kWidth);
  }
}

CpuStack::CpuStack(Backend& backend, const StackSpec& spec)
    : backend_(backend),
      config_(spec.config),
      kv_type_(spec.kv_type),
      layers_(spec.layers),
      input_forms_(input_forms(*layers_)),
      workspace_(config_, backend.pool.size(), LayerStack::attention_inputs(*layers_, config_)) {
  for (const LayerSpec& kind : config_.kinds) {
    ropes_.emplace_back(make_rope_table(kind.rope, config_.head_dim, spec.context), spec.context);
  }
}

void CpuStack::ensure_rotations(std::int64_t positions) {
  for (RopeCache& rope : ropes_) rope.ensure(positions);
}

ForwardPass CpuStack::pass(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
                           const PackedMatrix* embedding) {
  return {{.config = config_,
           .layers = *layers_,
           .embedding = embedding,
           .kernels = backend_.kernels,
           .ropes = ropes_,
           .layout = layout,
           .workspace = workspace_},
          batch,
          options};
}

void CpuStack::forward(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
                       const PackedMatrix* embedding) {
  if (options.inputs != nullptr) {
    for (const InputForm form : input_forms_) {
      if (form != InputForm::F32 && form != InputForm::BF16)
        throw Error(ErrorKind::Internal,
                    "forward: products read rows of {}, their inputs can be observed with weights of floats",
                    name(form));
    }
  }
  ensure_rotations(layout.max_position() + 1);
  std::size_t scratch = attention_scratch_bytes(layout.max_slots(), config_.heads / config_.kv_heads,
                                                config_.head_dim, kv_type_);
  if (workspace_.recurrent.key_heads > 0)
    scratch = std::max(scratch, RecurrentPass::scratch_bytes(workspace_.recurrent, layout.aside()));
  workspace_.ensure_forward(batch.rows(), input_forms_, scratch);
  workspace_.woken_experts = 0;
  const ForwardPass whole = pass(layout, batch, options, embedding);
  backend_.pool.run([&](Team& team) { whole.run(team); });
  result_rows_ = batch.rows();
}

std::span<const float> CpuStack::read_result() {
  const bool padded = workspace_.residual.stride() != workspace_.unpadded_residual.stride();
  const RowBuffer& result = padded ? workspace_.unpadded_residual : workspace_.residual;
  return {result.floats(0),
          static_cast<std::size_t>(result_rows_) * static_cast<std::size_t>(config_.hidden)};
}

void CpuStack::store(const BatchLayout& layout, const TokenBatch& batch, const float* rows) {
  ensure_rotations(layout.max_position() + 1);
  workspace_.ensure_forward(batch.rows(), input_forms_, 0);
  const ForwardOptions options;
  const ForwardPass storing = pass(layout, batch, options, nullptr);
  backend_.pool.run([&](Team& team) { storing.store(team, rows); });
}

void CpuStack::project(const RowProduct& product, std::span<const std::int32_t> rows) {
  if (rows.empty()) return;
  const auto count = static_cast<int>(rows.size());
  const InputForm form = product.matrix->input_form();
  workspace_.ensure_block_inputs(form, count);
  prepare_top(backend_, product, count);
  backend_.pool.run([&](Team& team) {
    const void* x = prepare_rows(
        team, workspace_,
        {.into = workspace_.block_inputs,
         .form = form,
         .width = config_.hidden,
         .weight = norm_of(product),
         .eps = product.eps},
        count, [&](std::int64_t i) { return workspace_.residual.floats(rows[static_cast<std::size_t>(i)]); });
    multiply_rows(team, backend_.kernels, product,
                  {.x = x, .stride = workspace_.block_inputs.shared.stride(), .count = count});
  });
  if (product.top != nullptr) product.top->merge();
}

}  // namespace augur
