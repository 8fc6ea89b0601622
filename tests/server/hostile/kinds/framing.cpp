#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

const std::string kGet = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
const std::string kPost = "POST /detokenize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
const std::string kBody = R"({"tokens": [1]})";  // 15 bytes
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

}  // namespace

/// Where a request ends, and who is meant: one reading each, or a refusal that ends the connection.
std::vector<Case> framing() {
  return {
      {"an ordinary one", kPost + "Content-Length: 15\r\n\r\n" + kBody, {200}},
      {"in chunks", kChunked + "f\r\n" + kBody + "\r\n0\r\n\r\n", {200}},
      {"two lengths", kPost + "Content-Length: 15\r\nContent-Length: 3\r\n\r\n" + kBody, {400}},
      {"the same length twice", kPost + "Content-Length: 15\r\nContent-Length: 15\r\n\r\n" + kBody, {400}},
      {"a list of lengths", kPost + "Content-Length: 15, 15\r\n\r\n" + kBody, {400}},
      {"a signed length", kPost + "Content-Length: +15\r\n\r\n" + kBody, {400}},
      {"a negative length", kPost + "Content-Length: -1\r\n\r\n" + kBody, {400}},
      {"a hexadecimal length", kPost + "Content-Length: 0xf\r\n\r\n" + kBody, {400}},
      {"a length beyond 2^64", kPost + "Content-Length: 99999999999999999999999\r\n\r\n", {400, 413}},
      {"a length beyond 2^63", kPost + "Content-Length: 9223372036854775808\r\n\r\n", {413}},
      {"no length", kPost + "\r\n", {400}},
      {"length and chunks",
       kPost + "Content-Length: 15\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {400}},
      {"chunks and length",
       kPost + "Transfer-Encoding: chunked\r\nContent-Length: 15\r\n\r\n0\r\n\r\n",
       {400}},
      {"xchunked and length",
       kPost + "Transfer-Encoding: xchunked\r\nContent-Length: 15\r\n\r\n" + kBody,
       {400}},
      {"xchunked", kPost + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {501}},
      {"gzip, chunked", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {501}},
      {"chunked twice",
       kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {400}},
      {"chunks in HTTP/1.0",
       "POST /detokenize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {400}},
      {"space before the colon", kPost + "Content-Length : 15\r\n\r\n" + kBody, {400}},
      {"a chunk of no size", kChunked + "\r\n\r\n", {400}},
      {"a chunk of a word", kChunked + "fifteen\r\n" + kBody + "\r\n0\r\n\r\n", {400}},
      {"a chunk of a sign", kChunked + "-1\r\n" + kBody + "\r\n0\r\n\r\n", {400}},
      {"a chunk beyond 2^64", kChunked + "fffffffffffffffff\r\n", {400, 413}},
      {"a chunk of 2^64 - 1", kChunked + "ffffffffffffffff\r\n", {400, 413}},
      {"a chunk that is longer than it says", kChunked + "2\r\n" + kBody + "\r\n0\r\n\r\n", {400}},
      {"a chunk extension", kChunked + "f;a=b\r\n" + kBody + "\r\n0\r\n\r\n", {200}},
      {"trailers", kChunked + "f\r\n" + kBody + "\r\n0\r\nX-Checksum: 1\r\n\r\n", {200}},
      {"a key in a trailer", kChunked + "f\r\n" + kBody + "\r\n0\r\nHost: evil.example\r\n\r\n", {200}},
      {"no host", "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", {400}},
      {"two hosts", kGet + "Host: other\r\n\r\n", {400}},
      {"HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n", {200}},
      {"HTTP/0.9", "GET /health\r\n\r\n", {400, 505}},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505}},
      {"HTTP/3.7", "GET /health HTTP/3.7\r\nHost: localhost\r\n\r\n", {505}},
      {"a TLS hello",
       std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(300, 'x') + "\r\n\r\n",
       {400}},
      {"bare line feeds", "GET /health HTTP/1.1\nHost: localhost\n\n", {400, 505}},
      {"a bare carriage return", kGet + "X: a\rb\r\n\r\n", {400}},
      {"a zero byte in a field", kGet + std::string("X: a\0b\r\n\r\n", 10), {400}},
      {"a zero byte in the target",
       std::string("GET /hea\0lth HTTP/1.1\r\nHost: localhost\r\n\r\n", 42),
       {400}},
      {"a field without a name", kGet + ": x\r\n\r\n", {400}},
      {"a line that is no field", kGet + "nothing\r\n\r\n", {400}},
      {"an absolute target",
       "GET http://localhost/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
       {200}},
      {"an absolute target elsewhere",
       "GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
       {403}},
      {"CONNECT",
       "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       {404, 405}},
      {"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {404, 405}},
      {"TRACE", "TRACE /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {405}},
      {"a method of its own",
       "BREW /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       {400, 405}},
      {"gzip", post("/detokenize", kBody, "Content-Encoding: gzip\r\n"), {415}},
      {"two encodings", post("/detokenize", kBody, "Content-Encoding: gzip, br\r\n"), {415}},
      {"identity", post("/detokenize", kBody, "Content-Encoding: identity\r\n"), {200}},
      {"an expectation", post("/detokenize", kBody, "Expect: miracles\r\n"), {417}},
      {"half a request",
       "POST /detokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{",
       {408}},
      {"nothing but an end", "\r\n\r\n", {0, 400, 408}},
  };
}

}  // namespace augur::hostile
