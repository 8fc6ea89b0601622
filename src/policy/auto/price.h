#pragma once

namespace augur {

/// The price of time: tokens per ms that the engine makes in the long run, as a running mean over its recent
/// rounds (of all sequences of a batch). Maximising tokens - price * time in every round maximises the
/// long-run rate when the price is that rate (Dinkelbach's method).
class Price {
 public:
  void observe(double tokens, double ms) {
    tokens_ += kRate * (tokens - tokens_);
    ms_ += kRate * (ms - ms_);
  }
  /// Never below `plain`, the rate that is always to be had.
  double tokens_per_ms(double plain) const {
    const double rate = ms_ > 0 ? tokens_ / ms_ : 0;
    return rate > plain ? rate : plain;
  }

 private:
  static constexpr double kRate = 1.0 / 64;
  double tokens_ = 0;
  double ms_ = 0;
};

}  // namespace augur
