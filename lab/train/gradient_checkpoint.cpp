#include "lab/train/gradient_checkpoint.h"

#include <utility>

#include "lab/train/tensor_count.h"

namespace augur {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The part, for autograd to keep.
struct KeptPart final : public torch::CustomClassHolder {
  explicit KeptPart(TensorFunction part) : run(std::move(part)) {}
  TensorFunction run;
};

class Checkpointed : public torch::autograd::Function<Checkpointed> {
 public:
  /// `tensors`: `count` inputs, then parameters.
  static tensor_list forward(AutogradContext* context, const TensorFunction& part, std::int64_t count,
                             at::TensorList tensors) {
    context->set_materialize_grads(false);
    context->save_for_backward({tensors.begin(), tensors.end()});
    context->saved_data["part"] = c10::IValue::make_capsule(c10::make_intrusive<KeptPart>(part));
    context->saved_data["count"] = count;
    return part({tensors.begin(), tensors.begin() + count});
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto part = c10::static_intrusive_pointer_cast<KeptPart>(context->saved_data["part"].toCapsule());
    const auto count = static_cast<std::size_t>(context->saved_data["count"].toInt());
    tensor_list tensors = context->get_saved_variables();
    for (std::size_t i = 0; i < count; ++i)
      tensors[i] = tensors[i].detach().requires_grad_(tensors[i].requires_grad());
    tensor_list outputs;
    {
      const torch::AutoGradMode collecting(true);
      TensorCount::Recomputing recomputing;
      outputs = part->run({tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(count)});
      recomputing.end();
    }
    tensor_list roots, seeds, leaves;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(std::move(outputs[i]));
      seeds.push_back(grads[i]);
    }
    for (const torch::Tensor& tensor : tensors) {
      if (tensor.requires_grad()) leaves.push_back(tensor);
    }
    constexpr std::size_t kOthers = 2;  // arguments of forward that are no tensors
    tensor_list result(kOthers + tensors.size());
    if (roots.empty() || leaves.empty()) return result;
    outputs.clear();
    tensor_list found = torch::autograd::grad(roots, leaves, seeds, /*retain_graph=*/false,
                                              /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0, next = 0; i < tensors.size(); ++i) {
      if (tensors[i].requires_grad()) result[kOthers + i] = std::move(found[next++]);
    }
    return result;
  }
};

}  // namespace

std::vector<torch::Tensor> checkpointed(bool on, const TensorFunction& part,
                                        const std::vector<torch::Tensor>& inputs,
                                        const std::vector<torch::Tensor>& parameters) {
  if (!on || !torch::GradMode::is_enabled()) return part(inputs);
  std::vector<torch::Tensor> tensors = inputs;
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  return Checkpointed::apply(part, static_cast<std::int64_t>(inputs.size()), at::TensorList(tensors));
}

torch::Tensor checkpointed(bool on, const std::function<torch::Tensor(const torch::Tensor&)>& part,
                           const torch::Tensor& input, const std::vector<torch::Tensor>& parameters) {
  const auto of_one = [part](const std::vector<torch::Tensor>& inputs) {
    return std::vector<torch::Tensor>{part(inputs[0])};
  };
  return checkpointed(on, of_one, std::vector<torch::Tensor>{input}, parameters)[0];
}

}  // namespace augur
