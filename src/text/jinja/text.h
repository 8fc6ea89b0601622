#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "text/marked_text.h"

namespace augur::jinja {

/// A string of the template language. Each of its bytes is the template's own or a client's: whoever makes a
/// string of bytes has to say whose they are, and parts keep what is known of their whole. Like a string_view
/// it owns nothing: bytes and marks live in an Arena, or in the template.
class Text {
 public:
  Text() = default;
  static Text own(std::string_view bytes) { return Text(bytes, nullptr); }
  static Text client(std::string_view bytes) { return Text(bytes, &kAllClient); }
  /// `marks`: as many as there are bytes; 1: the client's, 0: the template's own.
  static Text mixed(std::string_view bytes, const char* marks) { return Text(bytes, marks); }

  const std::string_view& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }

  /// `part` points into bytes().
  Text part(std::string_view part) const;
  Text part(std::size_t begin, std::size_t count = std::string_view::npos) const {
    return part(bytes_.substr(begin, count));
  }
  /// Null: all bytes are of one origin, which any_client() tells.
  const char* marks() const { return marks_ == &kAllClient ? nullptr : marks_; }
  /// Whether one of the bytes is a client's.
  bool any_client() const;

  /// Python's markupsafe.Markup: text in which &, <, > and quotes are escaped already.
  bool is_markup() const { return markup_; }
  Text as_markup(bool markup = true) const;

 private:
  static const char kAllClient;
  Text(std::string_view bytes, const char* marks) : bytes_(bytes), marks_(marks) {}

  std::string_view bytes_;
  const char* marks_ = nullptr;  ///< null: none is the client's; &kAllClient: all are
  bool markup_ = false;
};

/// A text in the making.
class TextBuilder {
 public:
  void add(const Text& text);
  void add(std::string_view bytes, bool client);
  void add_own(std::string_view bytes) { add(bytes, false); }

  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  /// Valid until the next change.
  Text view() const;
  std::string_view bytes() const { return bytes_; }
  void truncate(std::size_t size);

  MarkedText marked() &&;

 private:
  friend class Arena;
  bool mixed() const { return !marks_.empty(); }
  void become_mixed() { marks_.assign(bytes_.size(), client_ ? '\1' : '\0'); }

  std::string bytes_;
  std::string marks_;    ///< of mixed texts only
  bool client_ = false;  ///< of the others: whose they are
};

}  // namespace augur::jinja
