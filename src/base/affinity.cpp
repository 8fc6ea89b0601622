#include "base/affinity.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace augur {
namespace {

/// Of words, so that a set of any size lies as the kernel wants it.
class CpuSet {
 public:
  /// For so many processors, none of them in it.
  explicit CpuSet(std::size_t cpus) : words_((cpus + kBits - 1) / kBits, 0) {}

  std::size_t bytes() const { return words_.size() * sizeof(Word); }
  cpu_set_t* data() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  void add(int cpu) { word(cpu) |= bit(cpu); }
  bool has(int cpu) { return (word(cpu) & bit(cpu)) != 0; }

 private:
  using Word = unsigned long;  // the kernel's
  static constexpr std::size_t kBits = 8 * sizeof(Word);
  static Word bit(int cpu) { return Word{1} << static_cast<std::size_t>(cpu) % kBits; }
  Word& word(int cpu) { return words_[static_cast<std::size_t>(cpu) / kBits]; }

  std::vector<Word> words_;
};

int bind(pthread_t thread, std::span<const int> cpus) {
  if (cpus.empty()) return 0;
  CpuSet set(static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1);
  for (const int cpu : cpus) set.add(cpu);
  return pthread_setaffinity_np(thread, set.bytes(), set.data());
}

}  // namespace

std::vector<int> allowed_cpus(const ReadAffinity& read) {
  constexpr int kMost = 1 << 20;
  std::vector<int> cpus;
  for (int size = CPU_SETSIZE; size <= kMost; size *= 2) {
    CpuSet set(static_cast<std::size_t>(size));
    if (read(set.bytes(), set.data()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (int cpu = 0; cpu < size; ++cpu) {
      if (set.has(cpu)) cpus.push_back(cpu);
    }
    break;
  }
  return cpus;
}

int bind_thread(std::span<const int> cpus) {
  return bind(pthread_self(), cpus);
}

int bind_thread(std::thread& thread, std::span<const int> cpus) {
  return bind(thread.native_handle(), cpus);
}

int usable_cpus(std::size_t allowed, std::optional<double> granted) {
  const double most =
      std::min(static_cast<double>(allowed), std::ceil(granted.value_or(static_cast<double>(allowed))));
  return std::max(1, static_cast<int>(most));
}

}  // namespace augur
