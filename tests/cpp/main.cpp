// The runner. It includes the umbrella header, which must build on its own.
#include <gasg21/gasg21.hpp>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
