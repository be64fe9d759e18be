// The information of some samples about all directions in which a subspace can move, with the
// weights of the samples eliminated; and the direction that they determine least.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// The direction in which the samples determine a subspace least.
struct LeastInformed {
  double information;   // 1 for complete samples, 0 if nothing is known
  double angle;         // standard error of the subspace along it, radians
  arma::mat direction;  // d x n: how the rows of the basis move
};

/// A sample tells about a move D of the basis, n x d, what its own weights cannot absorb:
///   H(D) = sum_j E_j (I - U_j U_j^+) D_j w_j w_j'
/// with U_j and D_j the rows that sample j observes and E_j their place among all rows. Weights
/// are whitened. The moves D = U A do not change the subspace, and H is 0 for them. Matrices are
/// stored as d x n, one column per feature.
class TangentInformation {
 public:
  /// A basis and the mean of w w' over the samples to come.
  TangentInformation(const arma::mat& U, const arma::mat& scatter)
      : U_(U.t()),
        whitening_(whitening(scatter)),
        moments_(U.n_cols * U.n_cols, U.n_rows, arma::fill::zeros),
        counts_(U.n_rows, arma::fill::zeros) {}

  /// Adds a sample of unit norm: its observed rows, its weights, its squared residual.
  void add(std::vector<uword> rows, const arma::vec& w, double r2) {
    const uword d = U_.n_rows;
    if (rows.size() <= d) return;
    Sample sample{std::move(rows), product(whitening_, arma::mat(w)),
                  arma::mat(d, d, arma::fill::zeros)};
    for (const uword i : sample.rows) {
      const double* u = U_.colptr(i);
      for (uword c = 0; c < d; ++c)
        for (uword b = c; b < d; ++b) sample.G(b, c) += u[c] * u[b];
    }
    if (!(kernels::ldl(sample.G.memptr(), d) > 1e-12)) return;
    for (const uword i : sample.rows) {
      counts_[i] += 1;
      double* D = moments_.colptr(i);
      for (uword c = 0; c < d; ++c)
        for (uword b = c; b < d; ++b) D[c * d + b] += sample.w[c] * sample.w[b];
    }
    noise_ += r2 / double(sample.rows.size() - d);
    samples_.push_back(std::move(sample));
  }

  uword n_samples() const { return samples_.size(); }

  /// The features whose rows of the basis the samples do not determine: at most d samples observe
  /// them, or the weights of those that do have less than full rank.
  std::vector<uword> hardly_observed() const {
    const uword d = U_.n_rows;
    std::vector<uword> features;
    for (uword i = 0; i < U_.n_cols; ++i) {
      arma::mat D(moments_.colptr(i), d, d);
      if (counts_[i] <= double(d) || !(kernels::ldl(D.memptr(), d) > 1e-6)) features.push_back(i);
    }
    return features;
  }

  /// The least Ritz value of H after a few Lanczos steps, with every feature scaled by the number
  /// of samples that observe it. Pre: every feature is observed.
  LeastInformed least_informed(std::uint64_t seed, const std::function<bool()>& stop = {}) const {
    const arma::mat gauge = gauge_directions();
    std::vector<arma::mat> steps{first_step(gauge, seed)};
    arma::mat tridiagonal(most_steps, most_steps, arma::fill::zeros);
    for (uword k = 0;; ++k) {
      if (stop && stop()) throw Stopped{};
      arma::mat next = scaled_product(steps[k]);
      tridiagonal(k, k) = inner_product(next, steps[k]);
      for (int time = 0; time < 2; ++time) {
        for (const arma::mat& step : steps) next -= inner_product(step, next) * step;
        off_gauge(next, gauge);
      }
      const double beta = frobenius_norm(next);
      const ThinSvd<double> ritz = thin_svd(arma::mat(tridiagonal.submat(0, 0, k, k)));
      const double least = ritz.s[k], error = beta * std::abs(ritz.V(k, k));
      const bool settled = k >= 3 && error < 0.3 * least;
      const bool enough = k + 1 == (least > doubtful ? few_steps : most_steps);
      if (settled || least < 1e-10 || beta < 1e-8 || enough)
        return describe(steps, ritz.V.col(k), least);
      tridiagonal(k, k + 1) = tridiagonal(k + 1, k) = beta;
      steps.push_back(next / beta);
    }
  }

  /// Groups of features within which a direction that nothing is known about moves the basis as
  /// U A, with another A in each group: they do not hang together. Empty if there are no two.
  std::vector<std::vector<uword>> blocks(const arma::mat& direction) const {
    std::vector<std::vector<uword>> found;
    std::vector<bool> named(U_.n_cols, false);
    const double mean = inner_product(direction, direction) / double(U_.n_cols);
    while (found.size() < most_blocks) {
      const std::vector<uword> together = most_unnamed(named);
      if (together.size() <= U_.n_rows) break;
      const arma::mat rest = direction - product(common_move(direction, together), U_);
      std::vector<uword> block;
      uword added = 0;
      for (uword i = 0; i < U_.n_cols; ++i) {
        if (kernels::dot(rest.colptr(i), rest.colptr(i), U_.n_rows) > same * mean) continue;
        block.push_back(i);
        added += !named[i];
        named[i] = true;
      }
      // Blocks that share d features hang together: then the direction is of another kind.
      if (block.size() - added >= U_.n_rows) return {};
      if (added == 0) break;
      found.push_back(std::move(block));
    }
    if (found.size() < 2) found.clear();
    return found;
  }

 private:
  // Lanczos steps where the least Ritz value is not yet, and where it is, below `doubtful`.
  static constexpr uword few_steps = 25, most_steps = 60;
  static constexpr double doubtful = 0.01;
  static constexpr uword most_blocks = 10;
  // Two rows move alike if the square of their difference is below this share of the mean.
  static constexpr double same = 1e-5;

  struct Sample {
    std::vector<uword> rows;
    arma::vec w;  // whitened
    arma::mat G;  // factors of U_j'U_j, see kernels::ldl
  };

  /// B with B scatter B' = I. Directions without weight are left out.
  static arma::mat whitening(const arma::mat& scatter) {
    const ThinSvd<double> svd = thin_svd(scatter);
    arma::mat B = svd.V.t();
    for (uword c = 0; c < B.n_rows; ++c)
      B.row(c) *= svd.s[c] > 1e-14 * svd.s[0] ? 1 / std::sqrt(svd.s[c]) : 0.0;
    return B;
  }

  /// H(D).
  arma::mat apply(const arma::mat& D) const {
    const uword d = U_.n_rows;
    arma::mat result(d, U_.n_cols, arma::fill::zeros);
    std::vector<double> y;
    arma::vec b(d);
    for (const Sample& sample : samples_) {
      const uword count = sample.rows.size();
      y.resize(count);
      b.zeros();
      for (uword k = 0; k < count; ++k) {
        const double *move = D.colptr(sample.rows[k]), *u = U_.colptr(sample.rows[k]);
        y[k] = kernels::short_dot(move, sample.w.memptr(), d);
        for (uword c = 0; c < d; ++c) b[c] += y[k] * u[c];
      }
      kernels::ldl_solve(sample.G.memptr(), d, b.memptr());
      for (uword k = 0; k < count; ++k) {
        const double rest = y[k] - kernels::short_dot(U_.colptr(sample.rows[k]), b.memptr(), d);
        double* out = result.colptr(sample.rows[k]);
        for (uword c = 0; c < d; ++c) out[c] += rest * sample.w[c];
      }
    }
    return result;
  }

  arma::mat scaled_product(const arma::mat& z) const { return scale(apply(scale(z))); }

  /// Divides each feature by the root of its count.
  arma::mat scale(arma::mat z) const {
    for (uword i = 0; i < z.n_cols; ++i) z.col(i) /= std::sqrt(counts_[i]);
    return z;
  }

  /// An orthonormal basis, n x d, of the scaled U.
  arma::mat gauge_directions() const {
    arma::mat Q = U_.t();
    for (uword i = 0; i < Q.n_rows; ++i) Q.row(i) *= std::sqrt(counts_[i]);
    if (!orthonormalize(Q)) throw NumericalError("the basis lost its rank");
    return Q;
  }

  static void off_gauge(arma::mat& z, const arma::mat& gauge) {
    const arma::mat along = product(z, gauge);
    for (uword i = 0; i < z.n_cols; ++i)
      for (uword c = 0; c < gauge.n_cols; ++c)
        for (uword b = 0; b < z.n_rows; ++b) z(b, i) -= along(b, c) * gauge(i, c);
  }

  arma::mat first_step(const arma::mat& gauge, std::uint64_t seed) const {
    arma::mat z(U_.n_rows, U_.n_cols);
    Random(seed).normals(z.memptr(), z.n_elem);
    off_gauge(z, gauge);
    return z / frobenius_norm(z);
  }

  LeastInformed describe(const std::vector<arma::mat>& steps, const arma::vec& weights,
                         double least) const {
    arma::mat z(U_.n_rows, U_.n_cols, arma::fill::zeros);
    for (uword k = 0; k < steps.size(); ++k) z += weights[k] * steps[k];
    arma::mat moved = scale(std::move(z));
    // The part that changes the subspace, in the units of the weights that are not whitened.
    const arma::mat plain = transposed_product(whitening_, moved);
    const arma::mat off = plain - product(product(plain, arma::mat(U_.t())), U_);
    const double noise = std::sqrt(noise_ / double(samples_.size()));
    const double angle = noise * frobenius_norm(off) / std::sqrt(std::max(least, 1e-300));
    return {least, angle, std::move(moved)};
  }

  /// The features of the sample that observes most of those that are not named yet.
  std::vector<uword> most_unnamed(const std::vector<bool>& named) const {
    const Sample* best = nullptr;
    uword most = 0;
    for (const Sample& sample : samples_) {
      uword count = 0;
      for (const uword i : sample.rows) count += !named[i];
      if (count > most) best = &sample, most = count;
    }
    return best ? best->rows : std::vector<uword>();
  }

  /// A with D_i ~ A u_i for some features, by least squares.
  arma::mat common_move(const arma::mat& D, const std::vector<uword>& features) const {
    const uword d = U_.n_rows;
    arma::mat G(d, d, arma::fill::zeros), R(d, d, arma::fill::zeros);  // R = sum of u_i D_i'
    for (const uword i : features) {
      for (uword c = 0; c < d; ++c) {
        G.col(c) += U_(c, i) * U_.col(i);
        R.col(c) += D(c, i) * U_.col(i);
      }
    }
    if (!(kernels::ldl(G.memptr(), d) > 0)) return arma::mat(d, d, arma::fill::zeros);
    for (uword c = 0; c < d; ++c) kernels::ldl_solve(G.memptr(), d, R.colptr(c));
    return R.t();
  }

  arma::mat U_;          // d x n
  arma::mat whitening_;  // d x d
  arma::mat moments_;    // d^2 x n: sum of w w' over the samples that observe a feature
  arma::vec counts_;     // how many samples observe a feature
  double noise_ = 0;     // sum of r^2 / (N - d)
  std::vector<Sample> samples_;
};

}  // namespace gasg21
