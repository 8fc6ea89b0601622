#include "base/own_environment.h"

#include <locale.h>

#include <cfenv>
#include <clocale>

namespace augur {
namespace {

struct Here {
  bool own = false;        ///< the library's environment is in force
  std::fenv_t arithmetic;  ///< the host's, while it is
  locale_t locale;
};
thread_local Here here;

/// Null where the system has no memory for one: then the thread's locale stays.
locale_t c_locale() {
  static const locale_t c = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return c;
}

void enter() {
  std::fegetenv(&here.arithmetic);
  std::fesetenv(FE_DFL_ENV);
  here.locale = ::uselocale(c_locale());
  here.own = true;
}

void leave() {
  ::uselocale(here.locale);
  std::fesetenv(&here.arithmetic);
  here.own = false;
}

}  // namespace

OwnEnvironment::OwnEnvironment() : nested_(here.own) {
  if (!nested_) enter();
}

OwnEnvironment::~OwnEnvironment() {
  if (!nested_) leave();
}

HostEnvironment::HostEnvironment() : inside_(here.own) {
  if (inside_) leave();
}

HostEnvironment::~HostEnvironment() {
  if (inside_) enter();
}

}  // namespace augur
