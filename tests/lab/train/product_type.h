#pragma once
#include "lab/train/torch_ops.h"

namespace augur::testing_support {

/// Products are of another type as long as this lives.
class ProductType {
 public:
  explicit ProductType(torch::Dtype type) : before_(product_type()) { set_product_type(type); }
  ~ProductType() { set_product_type(before_); }

 private:
  torch::Dtype before_;
};

}  // namespace augur::testing_support
