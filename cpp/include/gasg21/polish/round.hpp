// One round of the polish, wherever the samples lie: weigh them, sum over them, solve for the next
// subspace. `Polisher` sums over samples in memory, `block_sums` over one block of the data.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/leading.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/secant.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// The polish stops when a round moves the subspace by less than this share of its estimated error.
inline constexpr double stop_share = 0.1;

/// The angle that a fit in T can aim at.
template <class T>
double reachable(double tol) {
  return std::max(tol, 10.0 * std::numeric_limits<T>::epsilon());
}

/// Whether a round moved a subspace too little for another round to matter.
template <class T>
bool has_settled(double moved, double estimated_angle, double tol) {
  return moved <= std::max(reachable<T>(tol), stop_share * estimated_angle);
}

struct RoundOptions {
  uword kept = 0;             // leading directions that the result keeps; 0 = all
  bool has_constant = false;  // the samples are lifted
  bool soften = false;        // few samples may lie near the subspace, as in a cluster
  bool extrapolate = true;    // end each round with a secant

  static RoundOptions of_cluster() {
    RoundOptions options;
    options.soften = true;
    return options;
  }
};

/// One subspace between the rounds. A round is `weigh` or `take`, then `advance`.
template <class T>
class Round {
 public:
  explicit Round(arma::Mat<T> U, RoundOptions options = {}, Scatter scatter = {})
      : U_(std::move(U)), options_(options), scatter_(std::move(scatter)) {
    require(double(orthonormality_error(U_)) < 1e-3, "the basis is not orthonormal");
    require(options_.kept <= U_.n_cols, "kept = ", options_.kept, " must be at most ", U_.n_cols);
    if (keeps_some()) kept_ = U_.head_cols(options_.kept);
  }

  /// Weighs samples in memory, by Tyler's fixed point. Throws Stopped when `stop` returns true.
  void weigh(SampleFits<T>& fits, const std::function<bool()>& stop = {}) {
    scatter_.settle(fits, options_.soften, stop);
    measure(information(fits, U_.n_rows));
  }

  /// Takes the sums over samples that were weighed by `scatter`: one step of the fixed point.
  void take(const ScatterSums& sums, uword near, const arma::mat& information) {
    scatter_ = Scatter(sums);
    if (options_.soften) scatter_.s *= softness(U_.n_cols, near);
    measure(information);
  }

  /// Ends the round: solves the sums, extrapolates, so that a slow approach is not taken for
  /// convergence, and rotates the scatter along. Returns the angle by which the subspace moved.
  /// Throws Stopped if it is stopped; the subspace stays as it was.
  double advance(const CoordinateSums<T>& sums, const Parallel& parallel) {
    const arma::Mat<T> before = U_;
    moved_ = update_coordinates(U_, sums, scatter_, parallel);
    if (options_.extrapolate) {
      const arma::Mat<T> solved = U_;
      secant_.extrapolate(before, U_, moved_);
      rotate(scatter_, solved, U_);
      moved_ = std::max(moved_, double(largest_angle(before, U_)));
    }
    if (keeps_some()) keep();
    return moved_;
  }

  /// The next round is over other samples: the moves so far do not tell where its moves lead.
  void change_data() { secant_ = Secant<T>(); }

  bool has_settled(double tol) const {
    return gasg21::has_settled<T>(moved_, estimated_angle_, tol);
  }

  const arma::Mat<T>& basis() const { return U_; }
  /// The leading directions of `basis`; all of them, unless the options keep less.
  const arma::Mat<T>& kept() const { return keeps_some() ? kept_ : U_; }
  const Scatter& scatter() const { return scatter_; }
  bool has_scatter() const { return !scatter_.C.empty(); }
  /// By which the last round moved the subspace that is kept, radians.
  double moved() const { return moved_; }
  /// Standard error of the subspace that is kept, before the last move, radians.
  double estimated_angle() const { return estimated_angle_; }

 private:
  bool keeps_some() const { return options_.kept != 0 && options_.kept < U_.n_cols; }

  void measure(const arma::mat& information) {
    const uword kept = keeps_some() ? options_.kept : U_.n_cols;
    estimated_angle_ = error_of_leading(information, scatter_.C, U_, kept, options_.has_constant);
  }

  /// Only the directions that are kept settle, so `moved` is theirs.
  void keep() {
    const arma::mat V = leading_directions(scatter_.C, U_, options_.kept, options_.has_constant);
    arma::Mat<T> kept = product(U_, arma::conv_to<arma::Mat<T>>::from(V));
    moved_ = largest_angle(kept_, kept);
    kept_ = std::move(kept);
  }

  arma::Mat<T> U_, kept_;
  RoundOptions options_;
  Scatter scatter_;
  Secant<T> secant_;
  double moved_ = arma::datum::pi / 2, estimated_angle_ = arma::datum::pi / 2;
};

}  // namespace gasg21
