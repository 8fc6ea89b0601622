#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/hub_flags.h"
#include "cli/progress.h"
#include "cli/tell.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "kernels/law.h"
#include "model/calibration.h"
#include "model/model.h"
#include "model/quantize_model.h"
#include "text/prompt_text.h"

namespace augur::cli {
namespace {

struct Options {
  std::string in;
  std::string out;
  DType type = DType::Q8_0;
  std::string importance;
  std::string text;
  ArithmeticLaw law = ArithmeticLaw::Auto;  ///< of the run over the text
  GgufSplit split;
  int threads = 0;
};

/// "500M", "2G": llama.cpp's units are of 1000 bytes.
std::int64_t parse_size(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [unit, problem] = std::from_chars(text.data(), end, value);
  const std::int64_t bytes = unit == end ? 0 : *unit == 'M' ? 1'000'000 : *unit == 'G' ? 1'000'000'000 : 0;
  std::int64_t size = 0;
  if (problem != std::errc{} || value < 1 || unit + 1 != end || bytes == 0 ||
      __builtin_mul_overflow(value, bytes, &size)) {
    throw CLI::ValidationError("--split-max-size",
                               fmt::format("'{}' is no number of M or G, like 500M or 2G", text));
  }
  return size;
}

void report(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    tell("written: {}, {:.1f} MB\n", file.string(),
         static_cast<double>(std::filesystem::file_size(file)) / 1e6);
  }
}

/// With the model's own weights in bf16.
ImportanceMatrix calibrated(const Checkpoint& checkpoint, const Options& options) {
  Backend backend(options.threads, false, isa_under(options.law, select_isa()));
  Progress progress("calibrating");
  const std::vector<TokenId> text = encode_text(*checkpoint.load_tokenizer(), read_text(options.text));
  const std::unique_ptr<Model> model = Model::load(backend, checkpoint, {.weights = WeightFormat::BF16});
  ImportanceMatrix matrix =
      calibrate(*model, text, options.text, [&](double fraction) { progress.update(fraction); });
  progress.done();
  return matrix;
}

int quantize(const Options& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.in);
  std::optional<ImportanceMatrix> importance;
  if (!options.importance.empty()) importance = ImportanceMatrix::read(options.importance);
  if (!options.text.empty()) importance = calibrated(checkpoint, options);
  ThreadPool pool(options.threads);
  Progress progress("quantising");
  const auto files = quantize_model(pool, checkpoint, options.out,
                                    {.type = options.type,
                                     .importance = importance ? &*importance : nullptr,
                                     .split = options.split,
                                     .progress = [&](double fraction) { progress.update(fraction); }});
  progress.done();
  report(files);
  return 0;
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "quantize", "Write a model or a draft head as a GGUF file of 2-bit to 8-bit or float weights");
  add_hub_flags(*command,
                command->add_option("IN", options->in, "Hugging Face folder or GGUF file")->required());
  command->add_option("OUT", options->out, "GGUF file to write")->required();
  add_choice<DType>(*command, "TYPE", options->type,
                    {{"q8_0", DType::Q8_0},
                     {"q4_0", DType::Q4_0},
                     {"q4_1", DType::Q4_1},
                     {"q4_k", DType::Q4_K},
                     {"q3_k", DType::Q3_K},
                     {"q2_k", DType::Q2_K},
                     {"iq4_nl", DType::IQ4_NL},
                     {"iq4_xs", DType::IQ4_XS},
                     {"mxfp4", DType::MXFP4},
                     {"bf16", DType::BF16},
                     {"f16", DType::F16},
                     {"f32", DType::F32}},
                    "Of the matrices. With 4 bits or fewer, embedding and head have 6 or 8")
      ->transform(CLI::detail::to_lower)
      ->required();
  CLI::Option* matrix = command->add_option(
      "--imatrix", options->importance,
      "Importance matrix of the model, a file of llama-imatrix: columns that matter more are kept "
      "more exactly");
  CLI::Option* calibrate =
      command
          ->add_option("--calibrate", options->text,
                       "Text to measure the importance matrix with, by running the model over it first (-: "
                       "standard input)")
          ->excludes(matrix);
  add_law_flag(*command, options->law)->needs(calibrate);
  command
      ->add_option_function<std::string>(
          "--split-max-size",
          [options](const std::string& text) { options->split.max_bytes = parse_size(text); },
          "Write OUT-00001-of-0000N.gguf and so on, with at most N megabytes or gigabytes of tensors each")
      ->type_name("N(M|G)");
  command
      ->add_option("--split-max-tensors", options->split.max_tensors,
                   "The same, with at most so many tensors each")
      ->check(in_range<std::int64_t>(1, std::int64_t{1} << 32))
      ->type_name("N");
  command->add_option("-t,--threads", options->threads, "Threads; 0: one for each core that it may use")
      ->check(in_range(0, 1024));
  command->callback([options, &action] { action = [options] { return quantize(*options); }; });
}

}  // namespace augur::cli
