#pragma once
#include <torch/torch.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace augur {

/// A parameter's key among the states of one of libtorch's optimizers: its address, before version 2 as text.
template <class Key>
Key state_key(const torch::Tensor& parameter) {
  if constexpr (std::is_pointer_v<Key>) {
    return parameter.unsafeGetTensorImpl();
  } else {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  }
}

/// A parameter's state; null: it has not moved yet.
template <class State>
State* find_state(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  auto& states = optimizer.state();
  const auto at = states.find(state_key<typename std::decay_t<decltype(states)>::key_type>(parameter));
  return at == states.end() ? nullptr : static_cast<State*>(at->second.get());
}

template <class State>
State& set_state(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter, State state) {
  auto& states = optimizer.state();
  auto& place = states[state_key<typename std::decay_t<decltype(states)>::key_type>(parameter)];
  place = std::make_unique<State>(std::move(state));
  return static_cast<State&>(*place);
}

}  // namespace augur
