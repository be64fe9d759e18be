// A folder for the files of one test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace support {

/// A folder of its own, removed at the end.
struct Folder {
  std::filesystem::path path;
  Folder() {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("gasg21-test-" + std::to_string(std::uintptr_t(this)) + "-" + std::to_string(count++));
    std::filesystem::create_directory(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path operator/(const char* name) const { return path / name; }
};

}  // namespace support
