#include "base/start_thread.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/own_environment.h"

namespace augur {
namespace {

/// A new thread has the mask of the one that makes it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&most, own);
    pthread_sigmask(SIG_BLOCK, &most, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread([name = std::string(name), body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.c_str());
      const OwnEnvironment environment;
      body();
    });
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::OutOfMemory, "thread {}: cannot be started: {}", name, error.what());
  }
}

}  // namespace augur
