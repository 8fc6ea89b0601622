#pragma once
#include <span>
#include <string_view>

#include "server/exchange.h"

namespace augur {

/// A file of the chat page (web/, or of a library that it has), which is part of the program.
struct PageFile {
  std::string_view path;  ///< of the URL
  std::string_view type;
  std::string_view content;
  bool of_library = false;
};

/// The page at "/" first. /options.js, which the program writes, is not among them.
std::span<const PageFile> page_files();

bool is_page_file(std::string_view path);

/// False: the request is not for a file of the page. Throws a Problem for a method that files do not support.
/// Files need no key and no model: the page asks for the key, and waits for the model. They load only from
/// this server, which their Content-Security-Policy enforces. `keeps_history`: the page may keep chats in the
/// browser (written to its /options.js).
bool answer_page(const HttpRequest& request, Exchange& exchange, bool keeps_history);

}  // namespace augur
