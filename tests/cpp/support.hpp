// Shared by several test files: seeded matrices and streams, exact comparison, the message of an
// error.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <gasg21/geometry/grassmann.hpp>
#include <gasg21/support/config.hpp>
#include <gasg21/support/random.hpp>
#include <limits>
#include <stdexcept>
#include <string>

namespace support {

using gasg21::Random;
using gasg21::uword;

template <class T>
inline constexpr T eps = std::numeric_limits<T>::epsilon();
template <class T>
inline constexpr T quiet_nan = std::numeric_limits<T>::quiet_NaN();

template <class T>
arma::Mat<T> gaussian(uword rows, uword cols, Random& random) {
  arma::Mat<T> X(rows, cols);
  for (T& entry : X) entry = T(random.normal());
  return X;
}

template <class T>
arma::Col<T> gaussian(uword n, Random& random) {
  return gaussian<T>(n, 1, random);
}

/// A random set of `count` of the rows 0 to n - 1, in rising order.
inline arma::uvec random_rows(uword n, uword count, Random& random) {
  const arma::uvec order = random.permutation(n);
  return arma::sort(order.head(count));
}

/// x with NaN everywhere but in the given rows.
template <class T>
arma::Col<T> only(const arma::Col<T>& x, const arma::uvec& rows) {
  arma::Col<T> y(x.n_elem);
  y.fill(quiet_nan<T>);
  y.elem(rows) = x.elem(rows);
  return y;
}

/// Vectors of a random subspace, among them the given shares of outliers and missing entries.
template <class T>
struct Stream {
  Random random;
  arma::Mat<T> truth;
  double outliers, missing;

  Stream(uword n, uword d, double outliers_, double missing_, std::uint64_t seed)
      : random(seed),
        truth(gasg21::random_basis<T>(n, d, random)),
        outliers(outliers_),
        missing(missing_) {}

  arma::Col<T> next() {
    arma::Col<T> x = truth * gaussian<T>(truth.n_cols, random);
    if (random.uniform() < outliers) x = gaussian<T>(truth.n_rows, random);
    for (T& entry : x)
      if (random.uniform() < missing) entry = quiet_nan<T>;
    return x;
  }
};

/// An observer of `run` that never stops it.
inline constexpr auto keep_going = [](const auto& /*report*/) { return false; };

/// Equal in every bit, so that NaN equals NaN and 0 does not equal -0.
template <class T>
bool same_bits(const arma::Mat<T>& a, const arma::Mat<T>& b) {
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols) return false;
  return a.empty() || std::memcmp(a.memptr(), b.memptr(), a.n_elem * sizeof(T)) == 0;
}

/// max |a - b|; NaN if any entry is.
template <class T>
double distance(const arma::Mat<T>& a, const arma::Mat<T>& b) {
  REQUIRE(a.n_rows == b.n_rows);
  REQUIRE(a.n_cols == b.n_cols);
  if (a.has_nan() || b.has_nan()) return quiet_nan<double>;
  return a.empty() ? 0.0 : double(arma::abs(a - b).max());
}

/// The message of the std::invalid_argument that `act` throws; empty if it throws none.
template <class Act>
std::string complaint(Act&& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace support
