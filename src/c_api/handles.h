#pragma once
#include <string>

#include "augur/augur.h"
#include "augur/engine.h"
#include "augur/session.h"
#include "base/error.h"

struct augur_engine {
  augur::Engine engine;
};

struct augur_result {
  augur::Result result;
};

struct augur_session {
  augur::Session session;
};

struct augur_ticket {
  augur::Ticket ticket;
};

namespace augur::c_api {

inline augur::Engine& checked(augur_engine* engine) {
  if (engine == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "the engine is NULL");
  return engine->engine;
}

inline augur::Session& checked(augur_session* session) {
  if (session == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "the session is NULL");
  return session->session;
}

}  // namespace augur::c_api
