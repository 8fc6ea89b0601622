#include "c_api/model_content.h"

#include <cstddef>
#include <limits>
#include <span>

#include "c_api/structs.h"

namespace augur::c_api {

GivenContent content_of(const augur_model_content* given) {
  const augur_model_content from = complete(given, augur_model_content_default(), "augur_model_content");
  if (from.bytes == nullptr && from.byte_count > 0)
    throw Error(ErrorKind::Misuse, "model_content: bytes are NULL, but byte_count is {}", from.byte_count);
  if (from.descriptor < -1 || from.descriptor > std::numeric_limits<int>::max())
    throw Error(refused("model_content"), "model_content: descriptor is {}: expected an open file's, or -1",
                from.descriptor);
  if (from.bytes == nullptr && from.descriptor == -1)
    throw Error(refused("model_content"), "model_content: expected bytes or a descriptor");
  GivenContent to;
  if (from.release != nullptr) to.release = std::make_shared<ContentRelease>(from.release, from.user);
  to.content = {.bytes = {static_cast<const std::byte*>(from.bytes), from.byte_count},
                .keeper = to.release,
                .descriptor = static_cast<int>(from.descriptor)};
  return to;
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_model_content_init(augur_model_content* content, size_t size) {
  augur_model_content out{};
  out.descriptor = -1;
  write_defaults(out, content, size);
}
