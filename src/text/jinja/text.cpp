#include "text/jinja/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace augur::jinja {

const char Text::kAllClient = 1;

Text Text::part(std::string_view part) const {
  Text out = *this;
  out.bytes_ = part;
  if (marks() != nullptr && !part.empty()) out.marks_ = marks_ + (part.data() - bytes_.data());
  return out;
}

bool Text::any_client() const {
  if (bytes_.empty() || marks_ == nullptr) return false;
  return marks_ == &kAllClient || std::memchr(marks_, 1, bytes_.size()) != nullptr;
}

Text Text::as_markup(bool markup) const {
  Text out = *this;
  out.markup_ = markup;
  return out;
}

void TextBuilder::add(const Text& text) {
  if (text.marks() == nullptr) return add(text.bytes(), text.any_client());
  if (!mixed()) become_mixed();
  bytes_ += text.bytes();
  marks_.append(text.marks(), text.size());
}

void TextBuilder::add(std::string_view bytes, bool client) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    client_ = client;
    marks_.clear();
  } else if (!mixed() && client != client_) {
    become_mixed();
  }
  if (mixed()) marks_.append(bytes.size(), client ? '\1' : '\0');
  bytes_ += bytes;
}

Text TextBuilder::view() const {
  if (mixed()) return Text::mixed(bytes_, marks_.data());
  return client_ ? Text::client(bytes_) : Text::own(bytes_);
}

void TextBuilder::truncate(std::size_t size) {
  bytes_.resize(size);
  if (mixed()) marks_.resize(size);
}

MarkedText TextBuilder::marked() && {
  MarkedText out;
  if (!mixed() && client_ && !bytes_.empty()) out.client.push_back({0, bytes_.size()});
  for (std::size_t begin = 0; (begin = marks_.find('\1', begin)) != std::string::npos;) {
    const std::size_t end = std::min(marks_.find('\0', begin), marks_.size());
    out.client.push_back({begin, end});
    begin = end;
  }
  out.text = std::move(bytes_);
  return out;
}

}  // namespace augur::jinja
