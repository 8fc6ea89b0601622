#pragma once

namespace augur::testing_support {

/// What stories260k writes from BOS alone, greedy, in 200 steps: published with llama2.c's tests.
inline constexpr const char* kStoriesKnownAnswer =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, "
    "she saw a big, red ball. She wanted to play with it, but it was too high.\n"
    "Lily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what to do. She said, \"I "
    "want to play with your ball, but I can't find it.\"\n"
    "Lily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to do.\"\n"
    "Lily didn't want to help her mom, so she";

}  // namespace augur::testing_support
