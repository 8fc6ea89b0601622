#pragma once
#include <string>

namespace augur {

/// What xgrammar warns of on this thread while it lives: the first warning; empty: none. Without one of these
/// warnings are passed over.
class WarningWatch {
 public:
  WarningWatch();
  ~WarningWatch();
  WarningWatch(const WarningWatch&) = delete;
  WarningWatch& operator=(const WarningWatch&) = delete;

  const std::string& first() const { return first_; }
  void note(const std::string& warning);

 private:
  WarningWatch* outer_;
  std::string first_;
};

}  // namespace augur
