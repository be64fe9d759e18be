// Laws of squared residuals: the Beta law of a random direction, the chi-squared law of noise.
// Not from the standard library: its lgamma writes a global variable, and differs by platform.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "gasg21/support/error.hpp"

namespace gasg21 {

/// ln Gamma(x) by Stirling's series at x >= 15. The error is a few roundings of the larger of the
/// result and ln 14! = 25. Pre: x > 0.
inline double log_gamma(double x) {
  require(x > 0, "log_gamma needs a positive argument, not ", x);
  double shift = 1;  // Gamma(x) = Gamma(x + k) / (x (x + 1) ... (x + k - 1))
  for (; x < 15; ++x) shift *= x;
  const double y = 1 / (x * x);
  const double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680)))) / x;
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - std::log(shift);
}

namespace detail {

/// Evaluates b0 + a1 / (b1 + a2 / (b2 + ...)) by the method of Lentz; term(i) gives {a_i, b_i}.
template <class Term>
double continued_fraction(double b0, Term&& term) {
  static constexpr double tiny = 1e-300, eps = std::numeric_limits<double>::epsilon();
  const auto not_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double value = not_zero(b0), c = value, d = 0;
  for (int i = 1; i <= 100'000; ++i) {
    const auto [a, b] = term(i);
    d = 1 / not_zero(b + a * d);
    c = not_zero(b + a / c);
    value *= c * d;
    if (std::abs(c * d - 1) <= eps) break;
  }
  return value;
}

struct Fraction {
  double a, b;
};

/// ln B(a, b).
inline double log_beta(double a, double b) {
  return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

/// The density of the Beta(a, b) law at x, times x (1 - x).
inline double beta_weight(double x, double a, double b, double log_beta) {
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta);
}

/// The regularised incomplete beta function of the given weight, where its fraction converges fast:
/// x below the mean.
inline double lower_beta(double x, double a, double b, double weight) {
  const double fraction = continued_fraction(1, [&](int i) {
    const double k = i / 2;
    const double step = i % 2 == 1 ? -(a + k) * (a + b + k) / ((a + 2 * k) * (a + 2 * k + 1))
                                   : k * (b - k) / ((a + 2 * k - 1) * (a + 2 * k));
    return Fraction{step * x, 1};
  });
  return weight / (a * fraction);
}

/// The density of Gamma(a, 1) at x, times x.
inline double gamma_weight(double x, double a) {
  return std::exp(a * std::log(x) - x - log_gamma(a));
}

/// Cornish and Fisher's expansion of the chi-squared quantile at the standard normal value z.
inline double chi_squared_expansion(double z, double k) {
  const double z2 = z * z, r = std::sqrt(2 * k);
  const double odd = z * (1 + ((z2 - 7) + ((9 * z2 + 256) * z2 - 433) / (540 * k)) / (18 * k));
  return k + r * odd + (z2 - 1) * 2 / 3 - ((6 * z2 + 14) * z2 - 32) / (405 * k);
}

/// The distribution function where x has the given weight. Pre: 0 < x < 1.
inline double beta_cdf(double x, double a, double b, double weight) {
  if (x <= (a + 1) / (a + b + 2)) return lower_beta(x, a, b, weight);
  return 1 - lower_beta(1 - x, b, a, weight);
}

}  // namespace detail

/// Distribution function of the Beta(a, b) law. Pre: a, b > 0.
inline double beta_cdf(double x, double a, double b) {
  require(a > 0 && b > 0, "the Beta law needs a, b > 0, not ", a, ", ", b);
  if (!(x > 0)) return 0;
  if (!(x < 1)) return 1;
  return detail::beta_cdf(x, a, b, detail::beta_weight(x, a, b, detail::log_beta(a, b)));
}

/// Quantile of the Beta(a, b) law for the probability p: by Newton's method on its logarithm from
/// the mean, or by halving where that leaves the bracket. Pre: a, b > 0, 0 < p < 1.
inline double beta_quantile(double p, double a, double b) {
  require(a > 0 && b > 0, "the Beta law needs a, b > 0, not ", a, ", ", b);
  require(p > 0 && p < 1, "a quantile needs a probability between 0 and 1, not ", p);
  static constexpr double eps = std::numeric_limits<double>::epsilon();
  const double log_beta = detail::log_beta(a, b);
  double low = 0, high = 1, x = a / (a + b);
  for (int i = 0; i < 100; ++i) {
    const double weight = detail::beta_weight(x, a, b, log_beta);
    const double reached = detail::beta_cdf(x, a, b, weight);
    (reached < p ? low : high) = x;
    double next = x - std::log(reached / p) * reached * x * (1 - x) / weight;
    if (!(next > low && next < high)) next = (low + high) / 2;
    const bool done = std::abs(next - x) <= std::max(1e-12 * (1 - x), eps) * x;
    x = next;
    if (done) break;
  }
  return x;
}

/// Distribution function of the chi-squared law with k degrees of freedom. Pre: k > 0.
inline double chi_squared_cdf(double x, double k) {
  require(k > 0, "the chi-squared law needs k > 0 degrees of freedom, not ", k);
  if (!(x > 0)) return 0;
  const double a = k / 2;
  x /= 2;
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double i = 1; term > sum * 1e-17; ++i) sum += term *= x / (a + i);
    return sum * detail::gamma_weight(x, a);
  }
  const double fraction = detail::continued_fraction(
      x + 1 - a, [&](int i) { return detail::Fraction{-i * (i - a), x + 2 * i + 1 - a}; });
  return 1 - detail::gamma_weight(x, a) / fraction;
}

/// The value of Wilson and Hilferty: the chi-squared law with k degrees of freedom at the standard
/// normal value z.
inline double chi_squared_at(double z, double k) {
  const double v = 2 / (9 * k), root = 1 - v + z * std::sqrt(v);
  return k * std::pow(std::max(root, 0.0), 3);
}

/// A probability and the standard normal value of that level.
struct Level {
  double p, z;
};
inline constexpr Level level_of_median{0.5, 0}, level_95{0.95, 1.6448536269514722},
    level_9999{0.9999, 3.7190164854557088};

/// Quantile of the chi-squared law with k degrees of freedom: by Newton's method from the value of
/// Wilson and Hilferty; for many degrees by the expansion of Cornish and Fisher, which is then as
/// accurate and takes no sum over sqrt(k) terms.
inline double chi_squared_quantile(const Level& level, double k) {
  require(k > 0, "the chi-squared law needs k > 0 degrees of freedom, not ", k);
  if (k >= 1000) return detail::chi_squared_expansion(level.z, k);
  double x = std::max(chi_squared_at(level.z, k), 1e-3 * k);
  for (int i = 0; i < 50; ++i) {
    const double density = detail::gamma_weight(x / 2, k / 2) / x;
    const double next = std::max(x - (chi_squared_cdf(x, k) - level.p) / density, x / 4);
    const bool done = std::abs(next - x) <= 1e-9 * x;
    x = next;
    if (done) break;
  }
  return x;
}

}  // namespace gasg21
