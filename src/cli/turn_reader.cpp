#include "cli/turn_reader.h"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "cli/output.h"

namespace augur::cli {

TurnReader::TurnReader() : interactive_(::isatty(STDIN_FILENO) == 1 && stdout_is_terminal()) {
  if (interactive_) std::setlocale(LC_CTYPE, "");  // letters of more than one byte
}

std::optional<std::string> TurnReader::next() {
  std::optional<std::string> turn = line(true);
  while (turn && turn->ends_with('\\')) {
    turn->back() = '\n';
    const std::optional<std::string> more = line(false);
    if (!more) break;
    *turn += *more;
  }
  return turn;
}

std::optional<std::string> TurnReader::line(bool first) {
  if (!interactive_) {
    std::string text;
    return std::getline(std::cin, text) ? std::optional(text) : std::nullopt;
  }
  char* const read = ::readline(first ? "> " : "… ");
  if (read == nullptr) {
    std::puts("");
    return std::nullopt;
  }
  std::string text = read;
  std::free(read);
  if (!text.empty()) ::add_history(text.c_str());
  return text;
}

}  // namespace augur::cli
