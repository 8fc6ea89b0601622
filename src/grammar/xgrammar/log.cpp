#include "grammar/xgrammar/log.h"

#include "base/error.h"

namespace augur {
namespace {

thread_local WarningWatch* watching = nullptr;

}  // namespace

WarningWatch::WarningWatch() : outer_(watching) {
  watching = this;
}

WarningWatch::~WarningWatch() {
  watching = outer_;
}

void WarningWatch::note(const std::string& warning) {
  if (first_.empty()) first_ = warning;
}

}  // namespace augur

// Where xgrammar's messages go: it is built with XGRAMMAR_LOG_CUSTOMIZE.
namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string&, int, const std::string& message) {
  const std::string check = "is false: ";
  const std::size_t at = message.starts_with("Check failed") ? message.find(check) : std::string::npos;
  throw augur::Error("grammar: {}", at == std::string::npos ? message : message.substr(at + check.size()));
}

void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  constexpr int kWarning = 2;
  if (level >= kWarning && augur::watching != nullptr) augur::watching->note(message);
}

}  // namespace xgrammar
