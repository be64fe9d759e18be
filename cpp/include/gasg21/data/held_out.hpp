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

/// The same for rows that rise from one question to the next, without a search for each.
class HiddenRows {
 public:
  HiddenRows(const std::vector<uword>* hidden, uword from) {
    if (!hidden) return;
    end_ = hidden->data() + hidden->size();
    next_ = std::lower_bound(hidden->data(), end_, from);
  }
  bool contain(uword i) {
    while (next_ != end_ && *next_ < i) ++next_;
    return next_ != end_ && *next_ == i;
  }
  /// The next of them, or `to` if it is not before. The question after it is for the one behind.
  uword next(uword to) { return next_ != end_ && *next_ < to ? *next_++ : to; }

 private:
  const uword *next_ = nullptr, *end_ = nullptr;
};

}  // namespace detail

}  // namespace gasg21
