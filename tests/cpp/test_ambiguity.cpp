// recovery/ambiguity.hpp: structured outliers make a second answer; others do not.
#include <gasg21/recover.hpp>
#include <gasg21/recovery/ambiguity.hpp>

#include "polish_support.hpp"

using gasg21::DenseView;
using gasg21::find_other_answer;
using gasg21::recover;
using gasg21::Status;
using support::gaussian;
using support::Problem;
using support::quiet_nan;
using support::uword;

namespace {

/// Replaces a share of the samples by make(), and hides a fifth of the entries.
template <class Make>
void replace(Problem<double>& p, double share, Make make) {
  for (uword j = 0; j < p.X.n_cols; ++j) {
    if (p.random.uniform() < share) p.X.col(j) = make();
    for (double& entry : p.X.col(j))
      if (p.random.uniform() < 0.2) entry = quiet_nan<double>;
  }
}

bool is_lie(const Problem<double>& p, uword d) {
  gasg21::Unobserved nobody;
  gasg21::RecoverOptions options;
  options.doubt = false;
  const auto found = recover<double>(DenseView<double>(p.X), d, options, nobody);
  return found.converged() && p.angle(found.basis) > 0.3;
}

}  // namespace

TEST_CASE("two subspaces of equal share are ambiguous") {
  Problem<double> p(50, 1000, 4, 0, 0, 0.01, 1);
  const arma::mat other = gasg21::random_basis<double>(50, 4, p.random);
  replace(p, 0.5, [&] { return arma::vec(other * gaussian<double>(4, p.random)); });
  CHECK(recover(p.X, 4).status == Status::ambiguous);
  const auto found = find_other_answer(p.truth, DenseView<double>(p.X), 0.01, 1);
  CHECK(found.is_as_good());
  CHECK(found.nearer == doctest::Approx(0.5).epsilon(0.1));
  CHECK(found.angle == doctest::Approx(gasg21::largest_angle(p.truth, other)).epsilon(0.05));
}

TEST_CASE("a cluster that took the place of a direction is not called converged") {
  Problem<double> p(50, 1000, 4, 0, 0, 0.01, 3);
  const arma::vec centre = 0.3 * gaussian<double>(50, p.random);
  replace(p, 0.4, [&] { return arma::vec(centre + 0.03 * gaussian<double>(50, p.random)); });
  CHECK(is_lie(p, 4));
  CHECK(recover(p.X, 4).status == Status::ambiguous);
  CHECK_FALSE(gasg21::is_converged(Status::ambiguous));
  CHECK(std::string(gasg21::to_string(Status::ambiguous)) == "ambiguous");
}

TEST_CASE("outliers on two dimensions are not called converged") {
  uword lies = 0;  // of fits without doubts; which of the problems end in one depends on chance
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Problem<double> p(50, 1000, 4, 0, 0, 0.01, seed);
    const arma::mat plane = gasg21::random_basis<double>(50, 2, p.random);
    replace(p, 0.4, [&] {
      return arma::vec(plane * gaussian<double>(2, p.random) +
                       0.01 * gaussian<double>(50, p.random));
    });
    if (!is_lie(p, 4)) continue;
    ++lies;
    CHECK_FALSE(recover(p.X, 4).converged());
  }
  CHECK(lies >= 2);
}

TEST_CASE_TEMPLATE("isotropic outliers and noise are not", T, double, float) {
  for (const double outliers : {0.0, 0.5, 0.8})
    for (const double noise : {0.0, 0.1}) {
      Problem<T> p(50, 1000, 4, outliers, 0.3, noise, 4);
      CAPTURE(outliers);
      CAPTURE(noise);
      CHECK(recover(p.X, 4).converged());
    }
}

TEST_CASE("a spectrum that decays is not") {
  Problem<double> p(50, 1000, 10, 0, 0, 0, 5);
  arma::vec scale = {100, 30, 5, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01};
  for (uword j = 0; j < p.X.n_cols; ++j)
    p.X.col(j) = p.truth * (scale % gaussian<double>(10, p.random));
  for (uword d = 1; d < 6; ++d) {
    const arma::mat leading = p.truth.head_cols(d);
    CHECK_FALSE(find_other_answer(leading, DenseView<double>(p.X), 1e-3, 1).is_as_good());
  }
}

TEST_CASE("outliers that bend a subspace of nearly all dimensions are told") {
  Problem<double> p(20, 1500, 18, 0.6, 0, 0, 6);
  gasg21::Unobserved nobody;
  gasg21::RecoverOptions options;
  options.doubt = false;
  const auto trusting = recover<double>(DenseView<double>(p.X), 18, options, nobody);
  CHECK(trusting.converged());
  CHECK(trusting.estimated_angle < 0.3 * p.angle(trusting.basis));  // the lie
  const auto honest = recover(p.X, 18);
  CHECK(honest.status == Status::ambiguous);
  CHECK(honest.estimated_angle > 0.5 * p.angle(honest.basis));
  Problem<double> clean(20, 1500, 18, 0, 0, 0.01, 6);
  CHECK(recover(clean.X, 18).converged());
}

TEST_CASE("few samples of sparse data are no other answer: a subspace fits them anyway") {
  Problem<double> few(500, 200, 4, 0, 0.95, 0, 7);
  CHECK_FALSE(find_other_answer(few.truth, DenseView<double>(few.X), 0.01, 1).is_as_good());
}
