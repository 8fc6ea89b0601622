// Recorded rounds. Input that begins as a file of traces is read as it is; of any other, all up to the first
// zero byte is the header and the rest one sequence, whose length and checksum are made to fit.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "attempt.h"
#include "base/fnv1a.h"
#include "lab/trace/mixing.h"
#include "lab/trace/trace_file.h"
#include "part_folder.h"

namespace {

std::string wrap(std::string_view input) {
  const std::size_t end = input.find('\0');
  const std::string_view header = input.substr(0, end);
  const std::string_view sequence =
      end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  augur::Fnv1a sum;
  sum.add_bytes(sequence);
  std::string file = "AUGTRACE";
  augur::fuzz::put(file, std::uint32_t{1});
  augur::fuzz::put(file, static_cast<std::uint32_t>(header.size()));
  file += header;
  augur::fuzz::put(file, std::uint64_t{sequence.size()});
  augur::fuzz::put(file, sum.value());
  file += sequence;
  augur::fuzz::put(file, std::uint64_t{0});
  augur::fuzz::put(file, std::uint64_t{1});
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path path = augur::fuzz::scratch_folder() / "traces";
  augur::fuzz::write_file(path, input.starts_with("AUGTRACE") ? std::string(input) : wrap(input));
  augur::fuzz::attempt([&] {
    augur::TraceReader reader(path);
    augur::TraceSequence sequence;
    while (reader.next(sequence)) {
      for (const augur::TokenId token : augur::mixed_beginning(sequence, 0.5, 1)) {
        if (token < 0 || token >= reader.header().target.vocab) std::abort();
      }
      for (const augur::TraceRound& round : sequence.rounds) {
        std::vector<augur::NodeLabel> labels;
        std::vector<float> scores;
        std::vector<std::int32_t> depths;
        augur::label_nodes(sequence, round, labels);
        augur::score_nodes(round, scores, depths);
        augur::hetero_pair(sequence, round, reader.header().size);
      }
    }
  });
  return 0;
}
