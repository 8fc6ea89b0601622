#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>

namespace augur {

/// Where spans are sent: by OTLP over HTTP, without TLS (a collector on this machine speaks it onwards).
struct CollectorAddress {
  std::string host;  ///< a name, or an address
  std::string port;
  std::string path;

  /// "http://HOST[:PORT][/PATH]": port 4318 and path /v1/traces where they are not said. Error naming
  /// --otlp-endpoint for anything else.
  static CollectorAddress parse(const std::string& url);
};

/// What a collector has answered.
struct CollectorReply {
  int status = 0;     ///< of HTTP; 0: there was none
  std::string error;  ///< why there was none
  bool taken() const { return status >= 200 && status < 300; }
  /// It may take them later.
  bool passes() const { return status == 0 || status == 429 || (status >= 502 && status <= 504); }
  std::string reason() const;
};

/// Sends a body, and waits for the answer as long as it may take, or until `io`, which has nothing else to
/// do, is stopped: then nothing of it runs any more. One thread at a time.
CollectorReply send_spans(boost::asio::io_context& io, const CollectorAddress& to, const std::string& body);

}  // namespace augur
