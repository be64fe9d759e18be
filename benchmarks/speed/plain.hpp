// GASG21 as one writes it in plain Armadillo: Algs. 1 and 2 line by line, without the tricks of the
// library, but competently (the step-size rule costs O(n + d), not the paper's O(n d^2)).
#pragma once

#include <algorithm>
#include <cmath>
#include <gasg21/support/config.hpp>

namespace plain {

using arma::uword;

// Step 3 of Alg. 1: the weights w of x in the columns of A = U_Omega.

/// As the paper has it.
struct Solve {
  arma::vec operator()(const arma::mat& A, const arma::vec& x) const { return arma::solve(A, x); }
};

/// As a careful author would have it: O(|Omega| d^2 / 2), and only a d x d system to solve.
struct NormalEquations {
  arma::vec operator()(const arma::mat& A, const arma::vec& x) const {
    const arma::mat gram = A.t() * A;
    const arma::vec projected = A.t() * x;
    return arma::solve(gram, projected, arma::solve_opts::likely_sympd);
  }
};

/// Only right when nothing is missing: the columns of U are orthonormal. (Projecting twice, because
/// after one projection the residual is not orthogonal enough: U drifts away from orthonormality.)
struct Projection {
  arma::vec operator()(const arma::mat& U, const arma::vec& x) const {
    const arma::vec w = U.t() * x;
    return w + U.t() * (x - U * w);
  }
};

/// Alg. 2 with its default constants.
class StepSize {
 public:
  explicit StepSize(double eta0) : eta0_(eta0) {}

  double next(double agreement) {
    mu_ = std::max(mu_ - 1 + 1.5 / (1 + 0.5 * std::exp(agreement / 0.1)), 0.0);
    if (mu_ >= 15) {
      ++level_;
      mu_ = 7.5;
    } else if (mu_ <= 0) {
      level_ = std::max(level_ - 1, 0);
      mu_ = 7.5;
    }
    return eta();
  }
  double eta() const { return eta0_ * std::pow(2.0, -level_); }

 private:
  double eta0_, mu_ = 7.5;
  int level_ = 0;
};

/// Alg. 1; NaN = missing.
template <class Weights>
class Tracker {
 public:
  Tracker(arma::mat U, double eta0) : U_(std::move(U)), rule_(eta0) {}

  void update(const arma::vec& x) {
    const arma::uvec omega = arma::find_finite(x);
    if (omega.n_elem <= U_.n_cols) return;
    const arma::mat A = U_.rows(omega);
    const arma::vec values = arma::normalise(x.elem(omega).eval());
    const arma::vec w = Weights()(A, values);
    arma::vec e(x.n_elem, arma::fill::zeros);
    e.elem(omega) = values - A * w;
    e /= arma::norm(e);
    // Departs from Alg. 2: the first vector has no previous gradient and leaves the rule alone.
    const double eta = previous_e_.empty()
                           ? rule_.eta()
                           : rule_.next(arma::dot(previous_e_, e) * arma::dot(previous_w_, w));
    const double sigma = arma::norm(w);
    const arma::vec v = w / sigma;
    U_ += ((std::cos(eta * sigma) - 1) * (U_ * v) + std::sin(eta * sigma) * e) * v.t();
    previous_e_ = std::move(e);
    previous_w_ = w;
  }

  const arma::mat& basis() const { return U_; }

 private:
  arma::mat U_;
  StepSize rule_;
  arma::vec previous_e_, previous_w_;
};

}  // namespace plain
