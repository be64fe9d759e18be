// The problem that all variants solve: vectors of a random subspace with a little noise, half of
// them replaced by Gaussian outliers of the same length, entries missing at random.
#pragma once

#include <cmath>
#include <gasg21/geometry/grassmann.hpp>
#include <gasg21/support/random.hpp>
#include <limits>

namespace speed {

using gasg21::Random;
using gasg21::uword;

struct Problem {
  arma::mat X;       // n x m, NaN = missing
  arma::mat truth;   // n x d
  arma::mat start;   // n x d
  arma::uvec order;  // three passes, each shuffled anew
  double observed;   // mean number of observed entries in a vector

  uword n() const { return start.n_rows; }
  uword d() const { return start.n_cols; }
};

inline Problem make_problem(uword n, uword d, uword samples, double share, std::uint64_t seed = 1) {
  constexpr double outliers = 0.5, noise = 1e-3;
  Random random(seed);
  Problem p{arma::mat(n, samples), gasg21::random_basis<double>(n, d, random),
            gasg21::random_basis<double>(n, d, random), arma::uvec(3 * samples), 0};
  uword count = 0;
  for (uword j = 0; j < samples; ++j) {
    const bool outlier = random.uniform() < outliers;
    arma::vec w(d);
    w.imbue([&] { return random.normal(); });
    const arma::vec inside = outlier ? arma::zeros(n) : arma::vec(p.truth * w);
    const double length = std::sqrt(double(d) / double(n)) * (outlier ? 1 : noise);
    for (uword i = 0; i < n; ++i) {
      const bool seen = share >= 1 || random.uniform() < share;
      p.X(i, j) =
          seen ? inside[i] + length * random.normal() : std::numeric_limits<double>::quiet_NaN();
      count += seen;
    }
  }
  for (uword pass = 0; pass < 3; ++pass)
    p.order.subvec(pass * samples, arma::size(samples, 1)) = random.permutation(samples);
  p.observed = double(count) / double(samples);
  return p;
}

}  // namespace speed
