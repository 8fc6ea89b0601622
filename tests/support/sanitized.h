#pragma once

namespace augur::testing_support {

/// Whether this program is built with a sanitizer that needs address space and descriptors of its own:
/// neither can be limited then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace augur::testing_support
