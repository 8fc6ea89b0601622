#pragma once
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstdint>
#include <new>
#include <string>

namespace augur {

/// A request's body as text, for Beast's parser. Unlike Beast's own it takes memory for what has come, not
/// for what is told to come, and has no memory as an error: an exception would pass by whoever waits for the
/// body.
struct TextBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool request, class Fields>
    reader(boost::beast::http::header<request, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) { error = {}; }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      std::size_t taken = 0;
      try {
        for (auto at = boost::asio::buffer_sequence_begin(buffers);
             at != boost::asio::buffer_sequence_end(buffers); ++at) {
          const boost::asio::const_buffer part = *at;
          body_.append(static_cast<const char*>(part.data()), part.size());
          taken += part.size();
        }
      } catch (const std::bad_alloc&) {
        error = boost::beast::errc::make_error_code(boost::beast::errc::not_enough_memory);
      }
      return taken;
    }

    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace augur
