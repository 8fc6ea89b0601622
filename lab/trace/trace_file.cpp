#include "lab/trace/trace_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/fnv1a.h"
#include "files/json_fields.h"
#include "files/json_reader.h"

namespace augur {
namespace {

static_assert(std::endian::native == std::endian::little, "trace files are little-endian");

constexpr std::string_view kMagic = "AUGTRACE";
constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kMost = 1 << 24;  ///< of any count in a header

std::uint64_t checksum(std::string_view bytes) {
  Fnv1a hash;
  hash.add_bytes(bytes);
  return hash.value();
}

template <class T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_all(std::string& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint32_t>(values.size()));
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Takes values off the front of bytes; Error where they end too early.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  void take_all(std::vector<T>& out) {
    const std::size_t count = take<std::uint32_t>();
    const std::string_view bytes = take_bytes(count * sizeof(T));
    out.resize(count);
    if (count > 0) std::memcpy(out.data(), bytes.data(), bytes.size());
  }
  std::string_view take_bytes(std::size_t count) {
    if (count > bytes_.size()) fail("ends early");
    const std::string_view result = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return result;
  }
  bool empty() const { return bytes_.empty(); }
  [[noreturn]] void fail(const std::string& problem) const { throw Error("{}: {}", what_, problem); }

 private:
  std::string_view bytes_;
  std::string what_;
};

nlohmann::json header_json(const TraceHeader& header) {
  return {{"target", to_json(header.target)},
          {"target_name", header.target_name},
          {"drafter", header.drafter},
          {"top_k", header.top_k},
          {"depth", header.depth},
          {"size", header.size},
          {"entropy_top_k", header.entropy_top_k},
          {"hidden", header.hidden},
          {"temperature", header.temperature},
          {"target_probabilities", header.target_probabilities}};
}

TraceHeader parse_header(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json(text, file);
  if (!json.is_object()) throw Error("{}: the header is no object", file);
  const JsonFields fields(json, file);
  const auto count = [&](const char* key) { return static_cast<int>(fields.require_int(key, kMost)); };
  TraceHeader header;
  const auto target = fields.find_object("target");
  if (!target) fields.fail("target", "missing");
  header.target = {.family = target->find_string("family").value_or(""),
                   .hidden = static_cast<int>(target->require_int("hidden", kMost)),
                   .layers = static_cast<int>(target->require_int("layers", kMost)),
                   .vocab = static_cast<std::int32_t>(target->require_int("vocab", kMost)),
                   .digest = target->find_string("digest").value_or("")};
  header.target_name = fields.find_string("target_name").value_or("");
  header.drafter = fields.find_string("drafter").value_or("");
  header.top_k = count("top_k");
  header.depth = count("depth");
  header.size = count("size");
  header.entropy_top_k = count("entropy_top_k");
  const double hidden = fields.require_number("hidden", 0, static_cast<double>(kMost));
  header.hidden = static_cast<int>(hidden);
  header.temperature = fields.require_number("temperature", 0, 1e6);
  header.target_probabilities = fields.flag("target_probabilities", false);
  return header;
}

void put_round(std::string& out, const TraceRound& round, bool target_probabilities) {
  put(out, round.root);
  put_all(out, round.tokens);
  put_all(out, round.parents);
  put_all(out, round.log_probs);
  put_all(out, round.entropies);
  put_all(out, round.top_entropies);
  if (target_probabilities) put_all(out, round.target_log_probs);
  put_all(out, round.stateful);
  put_all(out, round.hidden);
  put(out, round.verified);
  put(out, round.draft_ms);
  put(out, round.verify_ms);
  put(out, round.other_ms);
}

void check_round(const TraceRound& round, const TraceSequence& sequence, const TraceHeader& header,
                 const Cursor& in) {
  const std::size_t nodes = round.tokens.size();
  if (round.root < 0 || round.root >= std::ssize(sequence.tokens)) in.fail("a root lies outside the text");
  if (nodes == 0 || round.parents.size() != nodes || round.log_probs.size() != nodes ||
      round.entropies.size() != nodes || round.top_entropies.size() != nodes) {
    in.fail("a tree's arrays differ in length, or are empty");
  }
  if (round.parents[0] != -1) in.fail("a tree's first node is no root");
  for (std::size_t n = 0; n < nodes; ++n) {
    if (n > 0 && (round.parents[n] < 0 || round.parents[n] >= static_cast<std::int32_t>(n)))
      in.fail("a node precedes its parent");
    if (round.tokens[n] < 0 || round.tokens[n] >= header.target.vocab)
      in.fail("a token lies outside the vocabulary");
    if (!std::isfinite(round.log_probs[n])) in.fail("a node's log-probability is not finite");
  }
  if (header.target_probabilities && round.target_log_probs.size() != nodes) {
    in.fail("a tree's arrays differ in length, or are empty");
  }
  for (const float log_prob : round.target_log_probs) {
    if (std::isinf(log_prob)) in.fail("a node's log-probability is not finite");
  }
  std::int32_t last = -1;
  for (const std::int32_t node : round.stateful) {
    if (node <= last || node >= static_cast<std::int32_t>(nodes))
      in.fail("hidden states are of no nodes, or not in order");
    last = node;
  }
  if (round.hidden.size() != round.stateful.size() * static_cast<std::size_t>(header.hidden))
    in.fail("hidden states have another width than the header says");
}

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path, const TraceHeader& header)
    : path_(path.string()), file_(path), target_probabilities_(header.target_probabilities) {
  const std::string text = header_json(header).dump();
  buffer_ = kMagic;
  put(buffer_, kVersion);
  put(buffer_, static_cast<std::uint32_t>(text.size()));
  file_.write(buffer_ + text);
}

void TraceWriter::write(const TraceSequence& sequence) {
  for (const TraceRound& round : sequence.rounds) {
    if (std::all_of(round.log_probs.begin(), round.log_probs.end(), [](float x) { return std::isfinite(x); }))
      continue;
    throw Error("{}: sequence {}: a node's log-probability is not finite", path_, count_ + 1);
  }
  buffer_.clear();
  put(buffer_, sequence.prompt_size);
  put_all(buffer_, sequence.tokens);
  put(buffer_, static_cast<std::uint32_t>(sequence.rounds.size()));
  for (const TraceRound& round : sequence.rounds) put_round(buffer_, round, target_probabilities_);
  std::string lead;
  put(lead, static_cast<std::uint64_t>(buffer_.size()));
  put(lead, checksum(buffer_));
  file_.write(lead);
  file_.write(buffer_);
  ++count_;
}

void TraceWriter::finish() {
  std::string end;
  put(end, std::uint64_t{0});
  put(end, count_);
  file_.write(end);
  file_.commit();
}

TraceReader::TraceReader(const std::filesystem::path& path) : file_(path) {
  const std::string_view bytes(reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size());
  if (!bytes.starts_with(kMagic)) throw Error("{}: not a file of traces", file_.path());
  Cursor in(bytes.substr(kMagic.size()), file_.path());
  const auto version = in.take<std::uint32_t>();
  if (version != kVersion) {
    throw Error("{}: trace format {}: this program reads {}", file_.path(), version, kVersion);
  }
  const std::size_t length = in.take<std::uint32_t>();
  header_ = parse_header(in.take_bytes(length), file_.path());
  at_ = kMagic.size() + 2 * sizeof(std::uint32_t) + length;
}

bool TraceReader::next(TraceSequence& sequence) {
  const std::string_view bytes(reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size());
  const std::string where = fmt::format("{}: sequence {}", file_.path(), count_ + 1);
  Cursor file(bytes.substr(at_), where);
  const auto length = file.take<std::uint64_t>();
  const auto sum = file.take<std::uint64_t>();
  if (length == 0) {
    if (sum != count_ || !file.empty())
      throw Error("{}: {} sequences, and its end says {}", file_.path(), count_, sum);
    return false;
  }
  const std::string_view payload = file.take_bytes(length);
  if (checksum(payload) != sum) file.fail("is damaged");
  at_ += 2 * sizeof(std::uint64_t) + payload.size();
  ++count_;

  Cursor in(payload, where);
  sequence.prompt_size = in.take<std::int32_t>();
  in.take_all(sequence.tokens);
  if (sequence.prompt_size < 1 || sequence.prompt_size > std::ssize(sequence.tokens))
    in.fail("the prompt is longer than the text");
  for (const TokenId token : sequence.tokens) {
    if (token < 0 || token >= header_.target.vocab)
      in.fail("a token of the text lies outside the vocabulary");
  }
  sequence.rounds.clear();
  for (auto left = in.take<std::uint32_t>(); left > 0; --left) {
    TraceRound& round = sequence.rounds.emplace_back();
    round.root = in.take<std::int32_t>();
    in.take_all(round.tokens);
    in.take_all(round.parents);
    in.take_all(round.log_probs);
    in.take_all(round.entropies);
    in.take_all(round.top_entropies);
    if (header_.target_probabilities) in.take_all(round.target_log_probs);
    in.take_all(round.stateful);
    in.take_all(round.hidden);
    round.verified = in.take<std::int32_t>();
    round.draft_ms = in.take<float>();
    round.verify_ms = in.take<float>();
    round.other_ms = in.take<float>();
    check_round(round, sequence, header_, in);
  }
  if (!in.empty()) in.fail("goes on after its last round");
  return true;
}

}  // namespace augur
