#include "server/fields/body_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/io_thread.h"
#include "files/big_integers.h"
#include "server/fields/bad_request.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// Where a byte of the text is, and what is there.
std::string place_of(std::string_view text, std::size_t byte) {
  if (byte >= text.size()) return "at its end";
  const std::string_view before = text.substr(0, byte);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const char c = text[byte];
  const std::string what = c >= ' ' && c <= '~' ? fmt::format("'{}'", c)
                                                : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
  return fmt::format("at line {}, column {}: {}", line, byte - begin + 1, what);
}

/// Builds a document as the parser meets its parts. Members are put behind one another: ordered_json's own
/// way in looks through all that are there.
class Builder final : public nlohmann::json_sax<ordered_json> {
 public:
  Builder(std::string_view text, std::int64_t most_levels) : text_(text), most_levels_(most_levels) {}
  ordered_json take() { return std::move(root_); }

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& text) override {
    return put(exact_number(value, text)) != nullptr;
  }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }  // there is none in text

  bool start_object(std::size_t) override { return open(ordered_json::object()); }
  bool start_array(std::size_t) override { return open(ordered_json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second) {
      throw BadRequest(path_to(name), "the key is there twice");
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw BadRequest("", "the body is no JSON " + place_of(text_, position == 0 ? 0 : position - 1));
  }

 private:
  struct Open {
    ordered_json* value;
    std::string name;  ///< of the member in which it is
    std::unordered_set<std::string> keys = {};
  };

  ordered_json* put(ordered_json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    ordered_json& parent = *open_.back().value;
    if (parent.is_array()) {
      auto& list = parent.get_ref<ordered_json::array_t&>();
      list.push_back(std::move(value));
      return &list.back();
    }
    auto& members = parent.get_ref<ordered_json::object_t&>();
    static_cast<ordered_json::object_t::Container&>(members).emplace_back(key_, std::move(value));
    return &members.back().second;
  }
  bool open(ordered_json value) {
    if (std::ssize(open_) == most_levels_) {
      throw BadRequest("", fmt::format("the body is nested deeper than {} levels", most_levels_));
    }
    std::string name = key_;
    ordered_json* const place = put(std::move(value));
    open_.push_back({.value = place, .name = std::move(name)});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  std::string path_to(const std::string& name) const {
    std::string path;
    for (std::size_t i = 1; i < open_.size(); ++i) {
      const ordered_json& parent = *open_[i - 1].value;
      if (parent.is_array()) {
        path += fmt::format("[{}]", parent.size() - 1);
      } else {
        path += (path.empty() ? "" : ".") + open_[i].name;
      }
    }
    return path + (path.empty() ? "" : ".") + name;
  }

  const std::string_view text_;
  const std::int64_t most_levels_;
  ordered_json root_;
  std::vector<Open> open_;  ///< outermost first; their places stay, as only the innermost one grows
  std::string key_;
};

}  // namespace

ordered_json parse_body(std::string_view body, const Limits& limits) {
  IoThread::must_not_be_current();
  if (const std::size_t zero = body.find('\0');
      zero != std::string_view::npos) {  // where the parser would end
    throw BadRequest("", "the body is no JSON " + place_of(body, zero));
  }
  Builder builder(body, limits.json_levels);
  ordered_json::sax_parse(body, &builder);
  ordered_json object = builder.take();
  if (!object.is_object()) throw BadRequest("", "the body is not a JSON object");
  return object;
}

}  // namespace augur
