#pragma once
#include <atomic>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/suite/cell.h"
#include "lab/suite/method.h"
#include "lab/suite/peer_server.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/workbench.h"

namespace augur {

/// Reads other engines to compare with, one a line: "NAME: COMMAND LINE". The command starts a server that
/// speaks OpenAI's chat and completions APIs on 127.0.0.1:$PORT; it is run by /bin/sh, with PORT and the
/// variables of PeerSettings in its environment. A '\' at a line's end continues it, '#' begins a comment.
/// Each becomes a method that Augur does not run itself. Error naming file and line for anything else.
std::vector<Method> read_peers(const std::filesystem::path& path);
std::vector<Method> read_peers(std::istream& in, const std::filesystem::path& file);

/// The peers of a table that is part of the program ("llama.cpp": peers/llama.cpp.txt), otherwise of the
/// file. Commands with $DRAFT need a draft model that others can read, a GGUF file: without it (`has_draft`)
/// they are left out of the program's own table, and an Error in a file.
std::vector<Method> find_peers(const std::string& name_or_file, bool has_draft);

/// The servers of the methods that are other engines' (Method::server): started when first asked, stopped
/// from working except while an answer is awaited, ended with this object. One thread at a time.
class PeerServers {
 public:
  explicit PeerServers(PeerSettings settings) : settings_(std::move(settings)) {}

  /// Runs the conversation. Times are the server's own where it tells them (llama.cpp's `timings`), otherwise
  /// the request's, prompt included. False when `cancel` was set.
  bool run(const Method& peer, const SuitePrompt& prompt, const SuiteRequest& how,
           const std::atomic<bool>* cancel, Cell& cell);

 private:
  PeerServer& server(const Method& peer, const std::atomic<bool>* cancel);

  PeerSettings settings_;
  std::map<std::string, std::unique_ptr<PeerServer>> servers_;  ///< by the method's text
};

}  // namespace augur
