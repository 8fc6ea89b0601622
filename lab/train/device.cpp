#include "lab/train/device.h"

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/system_memory.h"

namespace augur {

namespace {

/// Products on GPUs are summed in float32, as on the CPU; cuBLAS may add parts of long sums in bfloat16.
torch::Device cuda(int index) {
#if TORCH_VERSION_MAJOR >= 2
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
#endif
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

}  // namespace

std::optional<std::int64_t> free_memory(torch::Device device) {
  if (device.is_cpu()) return available_memory();
  if (!device.is_cuda()) return {};
  // Of CUDA's runtime, which a libtorch with CUDA has loaded; its headers need not be here.
  using MemGetInfo = int (*)(std::size_t * free, std::size_t * total);
  const auto ask = reinterpret_cast<MemGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  std::size_t free = 0, total = 0;
  const c10::DeviceGuard guard(device);  // it is asked about the current one
  if (ask == nullptr || ask(&free, &total) != 0) return {};
  return static_cast<std::int64_t>(free);
}

void without_flash_attention() {
#if TORCH_VERSION_MAJOR >= 2
  at::globalContext().setSDPUseFlash(false);
#endif
}

torch::Device choose_device(const std::string& name) {
  const auto devices = static_cast<int>(torch::cuda::device_count());
  if (name == "cpu" || (name == "auto" && devices == 0)) return torch::kCPU;
  if (name == "auto") return cuda(0);
  constexpr std::string_view kCuda = "cuda";
  int index = 0;
  bool known = name == kCuda;
  if (name.starts_with("cuda:")) {
    const char* end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + kCuda.size() + 1, end, index);
    known = error == std::errc() && read == end && index >= 0 &&
            index <= std::numeric_limits<torch::DeviceIndex>::max();
  }
  if (!known) throw Error("--device {}: expected auto, cpu, cuda or cuda:N", name);
  if (!at::Context::hasCUDART()) throw Error("--device {}: this libtorch was built without CUDA", name);
  if (devices == 0) throw Error("--device {}: no CUDA device", name);
  if (index >= devices) throw Error("--device {}: there are {} CUDA devices", name, devices);
  return cuda(index);
}

}  // namespace augur
