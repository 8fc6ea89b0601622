#pragma once
#include <torch/torch.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace augur {

/// Counts the bytes of a device's tensors that threads make and free while they are watched (Watch), as
/// libtorch's allocators report them. A backward pass is watched where the thread that began it is, whatever
/// threads the device runs it on. May be read from any thread.
class TensorCount {
 public:
  explicit TensorCount(torch::Device device);
  ~TensorCount();
  TensorCount(const TensorCount&) = delete;
  TensorCount& operator=(const TensorCount&) = delete;

  /// Bytes that the watched threads have taken and not freed; below 0 where they freed what was there before.
  std::int64_t live() const;
  /// The most that live() has been.
  std::int64_t most() const;
  /// Bytes of the device that the allocator had given out before the first report; 0 where it does not tell.
  std::int64_t before() const;
  /// Bytes that gradient checkpoints (lab/train/gradient_checkpoint.h) made again in the backward pass of a
  /// pack: what would have been kept from its forward pass without them. The most of all packs.
  std::int64_t recomputed() const;
  /// The next backward pass is another pack's.
  void next_pack();

  /// Watches this thread while it lives. The count is kept as long as backward passes refer to it.
  class Watch {
   public:
    explicit Watch(const TensorCount& count);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    struct Guard;
    std::unique_ptr<Guard> guard_;
  };

  /// From its making to end(), what the tensors of a watched thread grow by is recomputed.
  class Recomputing {
   public:
    Recomputing();
    void end();

   private:
    std::int64_t live_ = 0;
  };

 private:
  struct Info;
  static Info* of_thread();

  std::shared_ptr<Info> info_;
};

}  // namespace augur
