#pragma once
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "augur/engine.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur::testing_support {

/// The stories model with a chat template, in a folder that goes with it.
struct TemplatedStories {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine;

  explicit TemplatedStories(const std::string& chat_template, bool draft = false) {
    for (const char* name : {"config.json", "tokenizer.model", "model.safetensors"}) {
      std::filesystem::copy_file(stories_path() / name, folder.path() / name);
    }
    std::ofstream(folder.path() / "chat_template.jinja") << chat_template;
    EngineOptions options = stories_engine_options(draft ? stories_path().string() : std::string());
    options.model = folder.path().string();
    engine = std::make_unique<Engine>(options);
  }
};

}  // namespace augur::testing_support
