// support/error.hpp: the messages and types of errors.
#include <gasg21/support/error.hpp>
#include <type_traits>

#include "support.hpp"

using gasg21::NumericalError;
using gasg21::require;

TEST_CASE("require does nothing if the condition holds") { CHECK_NOTHROW(require(true, "no")); }

TEST_CASE("require joins its parts into the message of an invalid_argument") {
  CHECK(support::complaint([] { require(false, "d = ", 7, " must be below ", 2.5); }) ==
        "d = 7 must be below 2.5");
}

TEST_CASE("NumericalError is not an error of the caller") {
  CHECK_FALSE(std::is_base_of_v<std::logic_error, NumericalError>);
  CHECK_THROWS_WITH_AS(throw NumericalError("svd"), "svd", std::runtime_error);
}
