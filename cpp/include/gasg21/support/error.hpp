// Errors: std::invalid_argument for an invalid argument, NumericalError for a failed computation,
// ModelFormatError for a file that is not a model. A sample that cannot be used is not an error; it
// is reported as a StepOutcome.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gasg21 {

/// A decomposition of a valid matrix failed.
class NumericalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file, or a pickle, does not hold what it should.
class ModelFormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws std::invalid_argument unless `ok`. The message is the concatenation of `parts`.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

}  // namespace gasg21
