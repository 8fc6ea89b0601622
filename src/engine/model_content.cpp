#include "engine/model_content.h"

#include <memory>

#include "base/error.h"
#include "files/mapped_file.h"

namespace augur {

Checkpoint open_model(const ModelContent& content, const std::string& model) {
  if (!content.given()) return Checkpoint::open(model);
  if (content.bytes.data() != nullptr && content.descriptor >= 0)
    throw Error(refused("model_content"),
                "the model's content is bytes and a descriptor: expected one of them");
  const std::string name = model.empty() ? "the model's content" : model;
  return Checkpoint::open(content.descriptor >= 0
                              ? std::make_shared<const MappedFile>(content.descriptor, name)
                              : std::make_shared<const MappedFile>(content.bytes, content.keeper, name));
}

}  // namespace augur
