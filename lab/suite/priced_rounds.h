#pragma once
#include <span>
#include <string>
#include <vector>

#include "lab/suite/round_log.h"

namespace augur {

/// What each round takes, in ms, on a machine of one speed: what a machine whose speed wanders would have
/// measured, had it stood still.
///
/// A part of a round takes what its kind takes times how slow the machine was just then. The kind of a
/// verification is its suite, prompt and rows; of drafting its variant, suite, prompt and candidates; of the
/// rest its variant, suite, prompt and whether anything was drafted. The machine has one speed during a few
/// consecutive rounds of a text. Both are fitted to the logarithms with Huber's loss (a round that lost a
/// slice to another program says next to nothing), and every round is priced at what its kinds take. A kind's
/// plain median would not do: what a controller drafts while the machine is slow it may draft at no other
/// time, when plain steps are faster, too.
std::vector<double> priced_ms(std::span<const LoggedRound> rounds);

/// Tokens per second by suite and variant, priced and as measured, means over the prompts; and their shares
/// of the suite's best fixed variant's. A variant is fixed unless a controller steered it. The best one is
/// chosen by hindsight: of several that differ by noise alone it is the luckiest, some per cent above their
/// mean.
std::string priced_tables(std::span<const LoggedRound> rounds);

}  // namespace augur
