// EM for the law of the weights: the maximum likelihood of an angular Gaussian law. Each sample is
// free to have its own size, as in Tyler's estimator, so outlying samples do little harm.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gasg21/fit/completer.hpp"
#include "gasg21/geometry/positive_definite.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21::detail {

inline constexpr double least_variance = 1e-28;  // noise-free data: rounding level
inline constexpr double no_noise = 1e-22;        // EM has nothing to say about so little noise

/// Input of EM: a sample z whose observed entries have the mean square 1. N is the
/// relative noise of its entries.
struct PriorSample {
  uword gram;       // which of the Gram matrices
  double count;     // observed entries
  arma::vec b;      // U_O' N^-1 z
  arma::vec w;      // argmin of (z - U_O w)' N^-1 (z - U_O w); empty if there is none
  double residual;  // that minimum; z' N^-1 z if there is none
};

struct PriorSamples {
  uword n = 0;                    // coordinates
  std::vector<arma::mat> grams;   // G = U_O' N^-1 U_O; samples may share one
  std::vector<PriorSample> each;  // those that share a Gram matrix stand together
};

/// x'A y for small symmetric A.
inline double quadratic_form(const arma::vec& x, const arma::mat& A, const arma::vec& y) {
  double sum = 0;
  for (uword c = 0; c < y.n_elem; ++c) {
    const double* column = A.colptr(c);
    double inner = 0;
    for (uword r = 0; r < x.n_elem; ++r) inner += column[r] * x[r];
    sum += y[c] * inner;
  }
  return sum;
}

/// Squared residual for other weights.
inline double residual_of(const PriorSample& x, const arma::mat& G, const arma::vec& w) {
  if (!x.w.empty()) {  // accurate for a residual near 0, too
    const arma::vec apart = w - x.w;
    return x.residual + std::max(quadratic_form(apart, G, apart), 0.0);
  }
  const double found =
      x.residual - 2 * kernels::dot(x.b.memptr(), w.memptr(), w.n_elem) + quadratic_form(w, G, w);
  return std::max(found, 1e-16 * x.residual);
}

class PriorEm {
 public:
  PriorEm(WeightPrior& prior, const PriorSamples& samples) : prior_(prior), samples_(samples) {
    positive_inverse(prior.C, precision_, 1e-13);
  }

  /// At most so many steps.
  void run(int steps) {
    for (int i = 0; i < steps; ++i)
      if (step() < 1e-3 || prior_.s < no_noise) break;
  }

  /// covariance = (G + s C^-1)^-1.
  void set_posterior(const arma::mat& G, arma::mat& covariance) {
    sum_ = G + prior_.s * precision_;
    positive_inverse(sum_, covariance, 1e-15);
  }

  /// By how much to scale the square of a sample, so that it has the size that the prior expects.
  double size_of(const PriorSample& x, const arma::vec& w, double residual) const {
    return x.count / (quadratic_form(w, precision_, w) + residual / prior_.s);
  }

 private:
  /// Returns by how much s C^-1 changes, relative to its diagonal.
  double step() {
    const uword d = prior_.C.n_rows;
    const double s = prior_.s;
    arma::mat C(d, d, arma::fill::zeros), covariance;
    double noise = 0, entries = 0;
    uword current = samples_.grams.size();
    for (const PriorSample& x : samples_.each) {
      const arma::mat& G = samples_.grams[x.gram];
      if (x.gram != current) set_posterior(G, covariance);
      current = x.gram;
      const arma::vec w = product(covariance, x.b);
      const double residual = residual_of(x, G, w), size = size_of(x, w, residual);
      for (uword c = 0; c < d; ++c)
        for (uword r = 0; r < d; ++r) C(r, c) += size * w[c] * w[r] + s * covariance(r, c);
      noise += size * residual + s * inner_product(covariance, G);
      entries += x.count;
    }
    return replace(C / double(samples_.each.size()), noise / entries);
  }

  /// Takes the new C and s, scaled so that an entry has the mean square 1.
  double replace(const arma::mat& C, double s) {
    const double unit = arma::trace(C) / double(samples_.n) + s;
    const arma::mat before = prior_.s * precision_;
    prior_.C = C / unit;
    prior_.s = std::max(s / unit, least_variance);
    positive_inverse(prior_.C, precision_, 1e-13);
    double change = 0;
    for (uword c = 0; c < C.n_cols; ++c)
      for (uword r = 0; r < C.n_rows; ++r)
        change = std::max(change, std::abs(prior_.s * precision_(r, c) - before(r, c)) /
                                      std::sqrt(before(r, r) * before(c, c)));
    return change;
  }

  WeightPrior& prior_;
  const PriorSamples& samples_;
  arma::mat precision_, sum_;
};

/// Where EM starts: weights without a direction, and a low quantile of the residuals of least
/// squares, so that the way to a tiny noise among many outliers is short.
inline WeightPrior first_prior(const PriorSamples& samples, uword d) {
  WeightPrior prior{arma::mat(d, d, arma::fill::eye) * (double(samples.n) / double(d)), 1.0, {}};
  std::vector<double> variances;
  for (const PriorSample& x : samples.each)
    if (!x.w.empty() && x.count >= double(d) + 2)
      variances.push_back(x.residual / (x.count - double(d)));
  if (variances.size() < std::max<std::size_t>(2 * d, samples.each.size() / 20)) return prior;
  const auto tenth = variances.begin() + std::ptrdiff_t(variances.size() / 10);
  std::nth_element(variances.begin(), tenth, variances.end());
  prior.s = std::clamp(*tenth, least_variance, 1.0);
  return prior;
}

}  // namespace gasg21::detail
