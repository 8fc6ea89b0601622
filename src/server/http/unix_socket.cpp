#include "server/http/unix_socket.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

gid_t group_id(const std::string& name) {
  group entry{};
  group* found = nullptr;
  int error = ERANGE;
  for (std::size_t bytes = 4096; error == ERANGE && bytes < (std::size_t{1} << 24); bytes *= 2) {
    std::vector<char> memory(bytes);
    error = ::getgrnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found);
  }
  if (found == nullptr) throw Error(ErrorKind::NotFound, "--socket-group {}: there is no such group", name);
  return entry.gr_gid;
}

}  // namespace

void UnixSocket::clear(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode))
    throw Error(ErrorKind::NotFound, "cannot listen at {}: there is something that is no socket", path);
  boost::asio::io_context io;
  boost::asio::local::stream_protocol::socket probe(io);
  boost::system::error_code error;
  probe.connect(boost::asio::local::stream_protocol::endpoint(path), error);
  if (error == boost::asio::error::connection_refused) ::unlink(path.c_str());
}

UnixSocket::UnixSocket(std::string path, std::optional<unsigned> mode, const std::string& group)
    : path_(std::move(path)) {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) throw Error("{}: {}", path_, std::strerror(errno));
  device_ = status.st_dev;
  file_ = status.st_ino;
  try {
    if (!group.empty() && ::lchown(path_.c_str(), static_cast<uid_t>(-1), group_id(group)) != 0) {
      throw Error(ErrorKind::NotFound,
                  "{}: cannot be given to the group {}: {} (whoever runs the server has to be in it)", path_,
                  group, std::strerror(errno));
    }
    if (mode && ::chmod(path_.c_str(), *mode) != 0) {
      throw Error("{}: cannot have the permissions {:04o}: {}", path_, *mode, std::strerror(errno));
    }
  } catch (...) {
    remove();
    throw;
  }
}

void UnixSocket::remove() const {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == file_) ::unlink(path_.c_str());
}

}  // namespace augur
