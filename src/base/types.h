#pragma once
#include "augur/sampling_options.h"

// TokenId is public: a token of the target's vocabulary. There is one id space outside vocabulary heads.
