// The plain Armadillo programs of benchmarks/speed do the same updates as the library.
#include <gasg21/tracker.hpp>

#include "../../benchmarks/speed/plain.hpp"
#include "../../benchmarks/speed/problem.hpp"
#include "support.hpp"

namespace {

using gasg21::uword;

template <class Weights>
double angle_to_ours(double observed, double eta0) {
  const speed::Problem p = speed::make_problem(60, 4, 100, observed);
  gasg21::PaperTracker<> ours(p.start, gasg21::AdaptiveStep::paper().with_eta0(eta0));
  plain::Tracker<Weights> theirs(p.start, eta0);
  for (const uword j : p.order) {
    ours.update(arma::vec(p.X.col(j)));
    theirs.update(p.X.col(j));
  }
  // The subspace must move, or the comparison tests nothing.
  REQUIRE(gasg21::largest_angle(ours.basis(), p.start) > 0.1);
  return gasg21::largest_angle(ours.basis(), theirs.basis());
}

}  // namespace

TEST_CASE("plain Armadillo, by arma::solve and by normal equations, equals the tracker") {
  for (const double observed : {1.0, 0.7, 0.4})
    for (const double eta0 : {0.1, 0.5}) {
      CAPTURE(observed);
      CAPTURE(eta0);
      CHECK(angle_to_ours<plain::Solve>(observed, eta0) < 1e-9);
      CHECK(angle_to_ours<plain::NormalEquations>(observed, eta0) < 1e-9);
    }
}

TEST_CASE("the projection equals the tracker when nothing is missing") {
  CHECK(angle_to_ours<plain::Projection>(1.0, 0.5) < 1e-9);
}

TEST_CASE("a problem is as it says") {
  const speed::Problem p = speed::make_problem(300, 3, 200, 0.7);
  CHECK(p.observed == doctest::Approx(210).epsilon(0.02));
  CHECK(p.order.n_elem == 600);
  CHECK(arma::accu(arma::unique(p.order.head(200))) == 200 * 199 / 2);
  // Half of the complete vectors lie within the noise of the truth.
  const speed::Problem complete = speed::make_problem(300, 3, 200, 1);
  const arma::mat rest = complete.X - complete.truth * (complete.truth.t() * complete.X);
  uword inliers = 0;
  for (uword j = 0; j < 200; ++j)
    inliers += arma::norm(rest.col(j)) < 0.1 * arma::norm(complete.X.col(j));
  CHECK(inliers > 70);
  CHECK(inliers < 130);
}
