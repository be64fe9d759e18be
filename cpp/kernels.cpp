// The kernels of the Python module and of the tests, compiled once.
#include <gasg21/kernels/instantiate.hpp>
