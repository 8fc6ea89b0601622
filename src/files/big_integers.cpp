#include "files/big_integers.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/json_reader.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// Builds a value from the parser's events, in a time that grows as the text does: ordered_json's own way to
/// a member looks through all that are there.
class Builder final : public nlohmann::json_sax<ordered_json> {
 public:
  ordered_json result;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& text) override { return put(exact_number(value, text)); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(ordered_json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(ordered_json::object()); }
  bool start_array(std::size_t) override { return open(ordered_json::array()); }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  struct Open {
    ordered_json* value;
    std::unordered_map<std::string, std::size_t> members = {};  ///< of an object: where they are
  };

  ordered_json* place(ordered_json value) {
    if (open_.empty()) return &(result = std::move(value));
    Open& parent = open_.back();
    if (parent.value->is_array()) {
      parent.value->push_back(std::move(value));
      return &parent.value->back();
    }
    ordered_json::object_t::Container& members = parent.value->get_ref<ordered_json::object_t&>();
    const auto [member, first] = parent.members.try_emplace(key_, members.size());
    if (!first) return &(members[member->second].second = std::move(value));
    return &members.emplace_back(key_, std::move(value)).second;
  }
  bool put(ordered_json value) {
    place(std::move(value));
    return true;
  }
  // What is open stays in place: its parent grows only when it is closed.
  bool open(ordered_json value) {
    if (std::ssize(open_) == kMaxJsonDepth) return false;
    open_.push_back({.value = place(std::move(value))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Open> open_;  ///< outermost first
  std::string key_;
};

bool holds_big_integer(const ordered_json& value) {
  return value.is_binary() ||
         (value.is_structured() && std::any_of(value.begin(), value.end(), holds_big_integer));
}

std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void write(const ordered_json& value, std::string& to) {
  if (value.is_binary()) {
    to += big_integer(value);
  } else if (value.is_structured()) {
    to += value.is_object() ? '{' : '[';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!std::exchange(first, false)) to += ',';
      if (value.is_object()) to += dump(key) + ':';
      write(item, to);
    }
    to += value.is_object() ? '}' : ']';
  } else {
    to += dump(value);
  }
}

}  // namespace

ordered_json parse_exact_json(std::string_view text) {
  Builder builder;
  const bool ends_early = text.find('\0') != std::string_view::npos;  // the parser would, there
  if (ends_early || !ordered_json::sax_parse(text, &builder))
    return ordered_json(ordered_json::value_t::discarded);
  return std::move(builder.result);
}

std::string write_exact_json(const ordered_json& value) {
  if (!holds_big_integer(value)) return dump(value);
  std::string text;
  write(value, text);
  return text;
}

ordered_json exact_number(double value, const std::string& text) {
  if (text.find_first_of(".eE") != std::string::npos) return value;
  return ordered_json::binary({text.begin(), text.end()});
}

std::string_view big_integer(const ordered_json& value) {
  const auto& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace augur
