// Runs a test for each instruction set that this machine has, and restores the one in use.
#pragma once

#include <doctest/doctest.h>

#include <gasg21/kernels/dispatch.hpp>

namespace support {

template <class Test>
void for_each_set(Test&& test) {
  using gasg21::InstructionSet;
  struct Restore {
    InstructionSet before = gasg21::instruction_set();
    ~Restore() { gasg21::use_instruction_set(before); }
  } restore;
  for (const auto set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!gasg21::use_instruction_set(set)) continue;
    CAPTURE(int(set));
    test();
  }
}

}  // namespace support
