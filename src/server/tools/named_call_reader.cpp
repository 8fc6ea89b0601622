#include "server/tools/named_call_reader.h"

#include <algorithm>

namespace augur {

std::size_t NamedCallReader::read_call(std::string_view text) {
  return read(text, [&](char c) { return step(c); });
}

bool NamedCallReader::step(char c) {
  switch (where_) {
    case Where::Begin:
      held_ += c;
      if (held_ == tags_->begin) {
        held_.clear();
        where_ = Where::Name;
        return true;
      }
      return tags_->begin.starts_with(held_);
    case Where::Name: {
      bool ended = false;
      if (!add_to_name(name_, c, tags_->arguments, ended)) return false;
      if (ended) end_name();
      return true;
    }
    case Where::Arguments:
      if (object_.read_call({&c, 1}) == 0) return false;
      arguments_ += object_.take_arguments();
      if (object_.state() == CallState::Done) where_ = Where::End;
      return object_.state() != CallState::Broken;
    case Where::End:
      if (held_.empty() && is_call_space(c)) return true;
      held_ += c;
      if (held_ == tags_->end) state_ = CallState::Done;
      return tags_->end.starts_with(held_);
  }
  return false;
}

void NamedCallReader::end_name() {
  if (name_.starts_with(tags_->prefix)) name_.erase(0, tags_->prefix.size());
  if (tags_->numbered) name_.erase(std::min(name_.find(':'), name_.size()));
  object_ = JsonCallReader::of_arguments(name_);
  where_ = Where::Arguments;
}

}  // namespace augur
