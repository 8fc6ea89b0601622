#pragma once
// Eight tiles of memory with the architecture's checks; what multiplies them is added by whoever derives from
// this.
#include <gtest/gtest.h>

#include "kernels/cpu/gemm_amx.h"

namespace augur {
namespace {

class TileMemory {
 public:
  void configure(const TileConfig& config) {
    ASSERT_EQ(config.palette, 1);
    config_ = config;
    live_ = true;
  }
  void release() { live_ = false; }
  ~TileMemory() { EXPECT_FALSE(live_) << "tiles left configured"; }

  template <int T>
  void zero() {
    std::memset(tiles_[T], 0, sizeof tiles_[T]);
  }
  template <int T>
  void load(const void* base, std::int64_t stride) {
    ASSERT_TRUE(live_);
    std::memset(tiles_[T], 0, sizeof tiles_[T]);
    for (int r = 0; r < config_.rows[T]; ++r)
      std::memcpy(tiles_[T][r], static_cast<const char*>(base) + r * stride, config_.row_bytes[T]);
  }
  template <int T>
  void store(void* base, std::int64_t stride) {
    ASSERT_TRUE(live_);
    for (int r = 0; r < config_.rows[T]; ++r)
      std::memcpy(static_cast<char*>(base) + r * stride, tiles_[T][r], config_.row_bytes[T]);
  }

 protected:
  TileConfig config_;
  bool live_ = false;
  std::uint8_t tiles_[8][16][64] = {};
};

}  // namespace
}  // namespace augur
