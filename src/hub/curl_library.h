#pragma once
#include <curl/curl.h>

namespace augur {

/// The functions of libcurl that are used. The library is loaded when the first of them is wanted: with all
/// that it needs that takes milliseconds, and few runs of a program fetch anything.
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_reset) easy_reset = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

/// Loads and starts it once, and keeps it: for any thread. HubUnreachable naming the library and what is
/// wrong with it, anew with every call, where it cannot be loaded: what the cache has may do.
const CurlLibrary& curl_library();

}  // namespace augur
