// The functions of libfmt that the library calls, compiled into it and not exported. A program that embeds it
// may have a libfmt of another version or build: names of fmt do not tell all of them apart, and the
// program's would come first.
#include <fmt/format-inl.h>

template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
