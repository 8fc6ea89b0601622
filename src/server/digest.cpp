#include "server/digest.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace augur {

std::string digest(std::string_view text) {
  static const boost::uuids::uuid kSpace =
      boost::uuids::string_generator()("5b0b2f6e-3f5d-4b0e-9a4f-6d1c8f8f2b1a");
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(kSpace)(std::string(text)));
}

}  // namespace augur
