#pragma once

namespace augur {

/// Gives libtorch's CPU tensors memory that is kept and reused: a training step makes thousands of
/// temporaries of the same few sizes, and page faults and the search for a fitting block otherwise cost more
/// than the arithmetic. What was once taken is never given back. Call once, before the first tensor.
void keep_tensor_memory();

}  // namespace augur
