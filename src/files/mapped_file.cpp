#include "files/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace augur {

bool file_exists(const std::filesystem::path& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error == std::errc::permission_denied)
    throw Error(ErrorKind::NotFound, "{}: cannot be looked up: {}", path.string(), error.message());
  return exists;
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path.string()) {
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw Error(ErrorKind::NotFound, "{}: cannot open: {}", path_, std::strerror(errno));
  try {
    map(descriptor);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

MappedFile::MappedFile(int descriptor, std::string name) : path_(std::move(name)) {
  map(descriptor);
}

MappedFile::MappedFile(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, std::string name)
    : data_(bytes.data()),
      size_(bytes.size()),
      keeper_(std::move(keeper)),
      path_(std::move(name)),
      identity_(fmt::format("memory {} {}", static_cast<const void*>(bytes.data()), bytes.size())) {}

void MappedFile::map(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(ErrorKind::NotFound, "{}: expected a regular file", path_);
  identity_ = fmt::format("file {}:{} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size,
                          status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                          status.st_ctim.tv_nsec);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // an empty mapping is not allowed
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED)
    throw Error(errno == ENOMEM ? ErrorKind::OutOfMemory : ErrorKind::NotFound, "{}: cannot map: {}", path_,
                std::strerror(errno));
  keeper_ = std::shared_ptr<const void>(
      address, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
  data_ = static_cast<const std::byte*>(address);
  size_ = size;
}

}  // namespace augur
