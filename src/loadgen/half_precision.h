#ifndef FERRY_LOADGEN_HALF_PRECISION_H_
#define FERRY_LOADGEN_HALF_PRECISION_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ferry {

// The two formats of 16 bits, as bits. Rounding is to nearest, ties to even; what is too large becomes infinite.

inline uint16_t Bf16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // Rounding could carry a NaN's payload into its sign.
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float FloatFromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t Fp16FromFloat(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;  // half-way from the largest to the next power of two
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // In units of the last place: 2^-24 for subnormal numbers, which all are below 2^-14. nearbyint() ties to even.
  const int unit = std::max(exponent - 11, -24);
  const auto units = static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // A normal number's leading bit adds one to the exponent, and so does a carry.
  return static_cast<uint16_t>(sign | (((unit + 24) << 10) + units));
}

inline float FloatFromFp16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace ferry

#endif  // FERRY_LOADGEN_HALF_PRECISION_H_
