#pragma once
#include <string>
#include <vector>

#include "hub/hub_model.h"

namespace augur {

/// What of a repository makes a model.
struct HubChoice {
  std::vector<std::string> files;
  std::string model;  ///< the file to open, of a split one the first part; empty: the folder
};

/// Of `paths`, the files of a repository in order: the one that `model` names; a GGUF file, all parts of it,
/// of the quantisation that it asks for, else Q4_K_M, else Q8_0, else the first, as llama.cpp has it (files
/// of projectors, importance matrices and drafters of the same model count only when they are named); where
/// there is none the folder that Checkpoint reads: configuration, tokenizer, template and weights. Error,
/// naming what there is, where there is no such file, or a part of it is missing.
HubChoice choose_files(const std::vector<std::string>& paths, const HubModel& model);

}  // namespace augur
