#ifndef AUGUR_NO_HUB
#include "hub/curl_library.h"

#include <dlfcn.h>

#include "base/error.h"
#include "hub/http_client.h"

namespace augur {

namespace {

// Of Debian's package libcurl4. Releases know it from here (scripts/release.sh).
constexpr const char* kCurl = "libcurl.so.4";

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw HubUnreachable("{}: has no {}, without which no model can be fetched", kCurl, name);
}

CurlLibrary load_curl() {
  void* const library = dlopen(kCurl, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw HubUnreachable("fetching a model takes libcurl (Debian's libcurl4), which cannot be loaded: {}",
                         dlerror());
  CurlLibrary curl;
  find_function(library, "curl_easy_init", curl.easy_init);
  find_function(library, "curl_easy_cleanup", curl.easy_cleanup);
  find_function(library, "curl_easy_reset", curl.easy_reset);
  find_function(library, "curl_easy_setopt", curl.easy_setopt);
  find_function(library, "curl_easy_getinfo", curl.easy_getinfo);
  find_function(library, "curl_easy_perform", curl.easy_perform);
  find_function(library, "curl_easy_strerror", curl.easy_strerror);
  find_function(library, "curl_slist_append", curl.slist_append);
  find_function(library, "curl_slist_free_all", curl.slist_free_all);
  decltype(&::curl_global_init) global_init = nullptr;
  find_function(library, "curl_global_init", global_init);
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    throw Error("libcurl: {}", curl.easy_strerror(code));
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary curl = load_curl();
  return curl;
}

}  // namespace augur
#endif
