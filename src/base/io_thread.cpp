#include "base/io_thread.h"

#include <stdexcept>

namespace augur {
namespace {

thread_local bool is_io_thread = false;

}  // namespace

IoThread::IoThread() {
  is_io_thread = true;
}

IoThread::~IoThread() {
  is_io_thread = false;
}

void IoThread::must_not_be_current() {
  if (is_io_thread) throw std::logic_error("this takes too long for the thread that serves all connections");
}

}  // namespace augur
