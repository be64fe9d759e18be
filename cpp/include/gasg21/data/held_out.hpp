// Entries that a fit must not see, so that it can be checked on them.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Entries of some samples that count as missing.
struct HeldOut {
  std::unordered_map<uword, std::vector<uword>> rows;  // sample -> sorted rows
};

namespace detail {

inline const std::vector<uword>* find_hidden(const HeldOut* held_out, uword j) {
  if (!held_out) return nullptr;
  const auto found = held_out->rows.find(j);
  return found == held_out->rows.end() ? nullptr : &found->second;
}

inline bool is_hidden(const std::vector<uword>* hidden, uword i) {
  return hidden && std::binary_search(hidden->begin(), hidden->end(), i);
}

}  // namespace detail

}  // namespace gasg21
