#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "server/hostile/hostile_test.h"

// Replaces the program's operator new: in one source file of a test program only.

namespace augur::hostile {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> too_large = kNone;  ///< bytes from which on there is no memory
std::atomic<int> refused = 0;

/// As long as it lives there is no memory for so many bytes at once.
class ShortOfMemory {
 public:
  explicit ShortOfMemory(std::size_t bytes) {
    refused = 0;
    too_large = bytes;
  }
  ~ShortOfMemory() { too_large = kNone; }
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;
};

class MemoryTest : public HostileTest {
 protected:
  MemoryTest() { neighbour_.reset(); }  // which is not what memory is short for

  /// The answer while there is no memory for `bytes` at once. Afterwards all is as it was.
  void check_short(const std::string& request, std::size_t bytes, bool anthropic = false) {
    {
      const ShortOfMemory now(bytes);
      const Answer answer = answer_to(request);
      EXPECT_EQ(answer.status, 503) << answer.body;
      EXPECT_NE(answer.header.find("Retry-After"), std::string::npos);
      EXPECT_NE(answer.body.find("no memory"), std::string::npos) << answer.body;
      EXPECT_EQ(answer.body.starts_with(R"({"type":"error")"), anthropic) << answer.body;
      EXPECT_GT(refused, 0);
    }
    EXPECT_EQ(status_of(request), 200);
    EXPECT_EQ(server_.held_bytes(), 0);
  }
};

constexpr std::size_t kLarge = 256 << 10;

std::string tokenize(std::size_t letters) {
  return post("/tokenize", R"({"content": ")" + std::string(letters, 'a') + "\"}");
}

TEST_F(MemoryTest, TheThreadOfConnectionsHasNoneForABody) {
  check_short(tokenize(900'000), kLarge);
  check_short(messages(R"("metadata": {"user_id": ")" + std::string(900'000, 'a') + "\"}"), kLarge, true);
}

TEST_F(MemoryTest, TheThreadOfConnectionsHasNoneForChunks) {
  const std::string body = R"({"content": ")" + std::string(700'000, 'a') + "\"}";
  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 10'000) {
    const std::string chunk = body.substr(at, 10'000);
    chunks += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
  }
  check_short(post("/tokenize", chunks + "0\r\n\r\n", "Transfer-Encoding: chunked\r\n"), kLarge);
}

TEST_F(MemoryTest, AWorkerHasNone) {
  check_short(tokenize(100'000), kLarge);
}

TEST_F(MemoryTest, TheSessionsThreadHasNoneToBegin) {
  check_short(post("/completion", R"({"prompt": "Once", "n_predict": 2, "temperature": 1, "n_probs": 3})"),
              96 << 10);
}

TEST_F(MemoryTest, AWorkerHasNoneForAConversation) {
  std::string list;
  for (int i = 0; i < 1'200; ++i) list += R"({"role":"user","content":"a"},)";
  check_short(post("/apply-template", R"({"messages": [)" + list + R"({"role": "user", "content": "a"}]})"),
              80'000);
}

// Not inlined: the compiler would take malloc and free for strangers.
[[gnu::noinline]] void* allocate(std::size_t bytes) {
  void* const memory = bytes < too_large ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (memory != nullptr) return memory;
  ++refused;
  throw std::bad_alloc();
}
[[gnu::noinline]] void release(void* memory) noexcept {
  std::free(memory);
}

}  // namespace
}  // namespace augur::hostile

void* operator new(std::size_t bytes) {
  return augur::hostile::allocate(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {  // of the library's sorting, too
  try {
    return augur::hostile::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  augur::hostile::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  augur::hostile::release(memory);
}
