#include "model/kv_pages.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace augur {

KvPages::KvPages(std::shared_ptr<KvPagePool> pool, std::int64_t most) : pool_(std::move(pool)) {
  if (!pool_) return;
  pages_.reserve(static_cast<std::size_t>(most));
  table_.reserve(static_cast<std::size_t>(most));
}

void KvPages::make_writable(std::int64_t first, std::int64_t end) {
  if (!pool_) return;
  assert(first >= given_back_);
  for (std::int64_t i = first; i < end; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (index >= pages_.size()) {
      KvPage page = pool_->take();
      pages_.resize(index);
      table_.resize(index);
      table_.push_back(page.data());
      pages_.push_back(std::move(page));
    } else if (!pages_[index]) {
      pages_[index] = pool_->take();
      table_[index] = pages_[index].data();
    } else if (pages_[index].shared()) {
      KvPage copy = pool_->take();
      pool_->memory().copy(copy.data(), table_[index], static_cast<std::size_t>(pool_->page_bytes()));
      table_[index] = copy.data();
      pages_[index] = std::move(copy);
    }
  }
}

void KvPages::replace_first(KvPage page) {
  if (pages_.empty()) {
    pages_.emplace_back();
    table_.emplace_back();
  }
  table_.front() = page.data();
  pages_.front() = std::move(page);
}

void KvPages::drop_from(std::int64_t count) {
  if (count >= this->count()) return;
  pages_.erase(pages_.begin() + count, pages_.end());
  table_.resize(pages_.size());
  given_back_ = std::min(given_back_, count);
}

void KvPages::give_back_before(std::int64_t count) {
  for (count = std::min(count, this->count()); given_back_ < count; ++given_back_) {
    pages_[static_cast<std::size_t>(given_back_)] = KvPage();
    table_[static_cast<std::size_t>(given_back_)] = nullptr;
  }
}

void KvPages::share(const KvPages& other, std::int64_t count) {
  assert(other.pool_ == pool_ && (!pool_ || count <= other.count()));
  if (!pool_) return;
  pages_.assign(other.pages_.begin(), other.pages_.begin() + count);
  table_.assign(other.table_.begin(), other.table_.begin() + count);
  given_back_ = std::min(other.given_back_, count);
}

}  // namespace augur
