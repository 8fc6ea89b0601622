#pragma once
#include <cstdint>

namespace augur::heap {

// This program's operator new and mmap (which PageMemory is made of) are its own. They count the allocations
// of all threads, and one of them can be made to fail.

/// Calls so far.
std::int64_t allocations();

/// The `n`-th allocation from now on fails, as if memory had run out: operator new throws std::bad_alloc,
/// mmap reports ENOMEM. 0: none does.
void fail_at(std::int64_t n);
/// The same of the calls of mmap alone.
void fail_mapping_at(std::int64_t n);
/// Whether it has come to that.
bool has_failed();

}  // namespace augur::heap
