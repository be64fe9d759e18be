// How the library says no: std::invalid_argument for what a caller passed, NumericalError for what
// could not be computed. A sample that cannot be used is neither; it is a StepOutcome.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gasg21 {

/// A decomposition did not succeed, although its input was valid.
class NumericalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws std::invalid_argument with the given parts as its message, unless `ok`.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

}  // namespace gasg21
