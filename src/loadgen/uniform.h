#ifndef FERRY_LOADGEN_UNIFORM_H_
#define FERRY_LOADGEN_UNIFORM_H_

#include <cstdint>
#include <random>

namespace ferry {

// Draws that are the same for the same seed with every standard library, whose own distributions are free to differ: of the
// standard, only the engine is specified to the bit.

// A number from [0, 1), a multiple of 2^-53.
inline double UniformUnit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// A number from [0, end), each as likely; `end` 0 stands for 2^64.
inline uint64_t UniformBelow(std::mt19937_64& random, uint64_t end) {
  if (end == 0) return random();
  // Draws below 2^64 mod `end` would make small results likelier.
  const uint64_t unfair = -end % end;
  uint64_t drawn = random();
  while (drawn < unfair) drawn = random();
  return drawn % end;
}

}  // namespace ferry

#endif  // FERRY_LOADGEN_UNIFORM_H_
