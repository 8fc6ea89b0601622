#pragma once
#include <functional>
#include <memory>

#include "kernels/backend.h"
#include "model/device.h"

namespace augur::testing_support {

/// Makes the device that a program's tests put their models on; empty: they are on the host. Set before
/// main() by support/on_slow_device.cpp, in the programs that have it.
inline std::function<std::unique_ptr<Device>(Backend& host)> device_maker;

/// Null: the host.
inline std::unique_ptr<Device> test_device(Backend& host) {
  return device_maker ? device_maker(host) : nullptr;
}

}  // namespace augur::testing_support
