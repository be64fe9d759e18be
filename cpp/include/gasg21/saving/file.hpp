// Files that are there whole or not at all: written to a temporary file in the same folder, synced,
// and renamed.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#if defined(_WIN32)
#include <io.h>
#include <process.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

#include "gasg21/saving/encoding.hpp"

namespace gasg21::saving {

using Path = std::filesystem::path;

/// A file could not be written or read; the code comes from the system.
class FileError : public std::system_error {
 public:
  FileError(int code, const Path& path)
      : std::system_error(code, std::generic_category(), path.string()), path_(path) {}
  const Path& path() const { return path_; }

 private:
  Path path_;
};

namespace detail {

inline void ensure(bool ok, const Path& path) {
  if (!ok) throw FileError(errno != 0 ? errno : EIO, path);
}

/// A file of this process alone. Closes and removes it, unless it was kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const Path& target) : target_(target) {
    static std::atomic<unsigned> counter{0};
#if defined(_WIN32)
    const int process = _getpid();
#else
    const int process = getpid();
#endif
    path_ = target;
    path_ += "." + std::to_string(process) + "-" + std::to_string(counter++) + ".tmp";
    errno = 0;
    file_ = std::fopen(path_.string().c_str(), "wbx");  // x: fails if it exists
    ensure(file_ != nullptr, target_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_) std::fclose(file_);
    std::error_code ignored;
    if (!kept_) std::filesystem::remove(path_, ignored);
  }

  void write(const Bytes& bytes) {
    errno = 0;
    ensure(std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() &&
               std::fflush(file_) == 0 && sync() == 0,
           target_);
    std::FILE* file = std::exchange(file_, nullptr);
    ensure(std::fclose(file) == 0, target_);
  }

  /// Gives it the name of the target, in place of what had that name.
  void rename() {
    std::error_code code;
    std::filesystem::rename(path_, target_, code);
    if (code) throw FileError(code.value(), target_);
    kept_ = true;
  }

 private:
  int sync() {
#if defined(_WIN32)
    return _commit(_fileno(file_));
#else
    return fsync(fileno(file_));
#endif
  }

  Path target_, path_;
  std::FILE* file_ = nullptr;
  bool kept_ = false;
};

/// Lets a rename in a folder survive a loss of power. Some file systems cannot, which is no error.
inline void sync_folder(const Path& folder) {
#if !defined(_WIN32)
  const int descriptor = open(folder.empty() ? "." : folder.string().c_str(), O_RDONLY);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
#else
  (void)folder;
#endif
}

}  // namespace detail

/// Writes a file, or leaves what was there. Follows a symbolic link. Refuses what is no file.
inline void write_file(const Path& path, const Bytes& bytes) {
  namespace fs = std::filesystem;
  std::error_code code;
  Path target = path;
  if (fs::is_symlink(fs::symlink_status(target, code))) {
    target = fs::weakly_canonical(path, code);
    if (code) throw FileError(code.value(), path);
  }
  const fs::file_status status = fs::status(target, code);
  if (fs::is_directory(status)) throw FileError(EISDIR, path);
  require(!fs::exists(status) || fs::is_regular_file(status), path.string(),
          " must be a regular file or a new name");
  detail::TemporaryFile file(target);
  file.write(bytes);
  file.rename();
  detail::sync_folder(target.parent_path());
}

/// Reads a model file. Looks at its first bytes before it allocates memory for the rest.
inline Bytes read_file(const Path& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) throw FileError(code ? code.value() : ENOENT, path);
  if (fs::is_directory(status)) throw FileError(EISDIR, path);
  demand(fs::is_regular_file(status), path.string(), " is not a regular file");
  const std::uint64_t size = fs::file_size(path, code);
  if (code) throw FileError(code.value(), path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  detail::ensure(bool(file), path);
  Bytes bytes(std::size_t(std::min<std::uint64_t>(size, header_size)));
  const auto read = [&](std::size_t from) {
    file.read(reinterpret_cast<char*>(bytes.data() + from), std::streamsize(bytes.size() - from));
    demand(std::size_t(file.gcount()) == bytes.size() - from, "the file became shorter");
  };
  read(0);
  check_header(bytes.data(), bytes.size(), size);
  bytes.resize(std::size_t(size));
  read(header_size);
  return bytes;
}

}  // namespace gasg21::saving
