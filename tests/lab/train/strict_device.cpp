#include "strict_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <malloc.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace augur::testing_support {

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

/// As GPUs' allocators do.
void report(void* data, std::int64_t bytes) {
  static std::atomic<std::int64_t> all = 0;
  all += bytes;
  if (c10::memoryProfilingEnabled()) c10::reportMemoryUsageToProfiler(data, bytes, all, 0, strict_device());
}

void release(void* data) {
  report(data, -static_cast<std::int64_t>(malloc_usable_size(data)));
  std::free(data);
}

// Without `override`: which of these the base class has depends on libtorch's version.
class StrictAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const {
    void* data = std::malloc(bytes);
    report(data, static_cast<std::int64_t>(malloc_usable_size(data)));
    return {data, data, &release, strict_device()};
  }
  c10::DataPtr allocate(std::size_t bytes) { return std::as_const(*this).allocate(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
};

c10::Allocator* allocator() {
  static StrictAllocator one;
  return &one;
}

at::Tensor empty(c10::IntArrayRef size, c10::optional<c10::ScalarType> type, c10::optional<c10::Layout>,
                 c10::optional<c10::Device>, c10::optional<bool>, c10::optional<c10::MemoryFormat> format) {
  return at::Tensor(at::detail::empty_generic(size, allocator(),
                                              c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                              c10::dtype_or_default(type), format));
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, c10::optional<c10::ScalarType> type,
                         c10::optional<c10::Layout>, c10::optional<c10::Device>, c10::optional<bool>) {
  return at::Tensor(at::detail::empty_strided_generic(size, stride, allocator(),
                                                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                      c10::dtype_or_default(type)));
}

/// The same memory, for the CPU's kernels.
at::Tensor on_cpu(const at::Tensor& x) {
  return at::from_blob(x.data_ptr(), x.sizes(), x.strides(), at::dtype(x.scalar_type()));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  const c10::InferenceMode no_views;
  on_cpu(to).copy_(on_cpu(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) {  // as arange does, whose result is empty at first
    const at::Tensor fresh = at::empty(from.sizes(), to.options());
    to.unsafeGetTensorImpl()->set_storage_keep_dtype(fresh.storage());
    to.unsafeGetTensorImpl()->set_sizes_contiguous(from.sizes());
  }
  return copy_from(from, to, false);
}

void require_here(const at::Tensor& x, const c10::OperatorHandle& op) {
  TORCH_CHECK(!x.defined() || x.device().type() == kType || x.dim() == 0 || x.numel() == 0,
              op.schema().name(), ": a tensor of shape ", x.sizes(), " is on ", x.device());
}

void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  for (std::size_t i = stack->size() - count; i < stack->size(); ++i) {
    const c10::IValue& value = (*stack)[i];
    if (value.isTensor()) require_here(value.toTensor(), op);
    if (value.isTensorList()) {
      for (const at::Tensor& x : value.toTensorVector()) require_here(x, op);
    }
  }
  at::native::cpu_fallback(op, stack);
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, c10::impl::NoOpDeviceGuardImpl<kType>)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute>());
}

}  // namespace

torch::Device strict_device() {
  return {kType, 0};
}

}  // namespace augur::testing_support
