// recovery/identifiability.hpp: what a mask leaves undetermined is named, and solvable problems are
// not doubted.
#include <gasg21/recover.hpp>
#include <gasg21/recovery/identifiability.hpp>
#include <vector>

#include "polish_support.hpp"

using gasg21::check_identifiability;
using gasg21::DenseView;
using gasg21::Identifiability;
using gasg21::recover;
using gasg21::Status;
using support::Problem;
using support::quiet_nan;
using support::uword;

TEST_CASE_TEMPLATE("random masks determine the subspace", T, double, float) {
  for (const double missing : {0.0, 0.3, 0.8}) {
    Problem<T> p(60, 3000, 4, 0.3, missing, 0.01, 1);
    const Identifiability found = check_identifiability(p.truth, DenseView<T>(p.X), 1);
    CAPTURE(missing);
    CHECK(found.is_determined());
    CHECK(found.information > 0.02);
    CHECK(found.angle < 0.01);
  }
}

TEST_CASE("features that no sample, or no inlier, observes are named") {
  Problem<double> p(40, 1000, 3, 0.3, 0.2, 0, 2);
  p.X.row(5).fill(quiet_nan<double>);
  gasg21::Projector<double> projector(p.truth);
  for (uword j = 0; j < p.X.n_cols; ++j) {
    projector.read(DenseView<double>(p.X).sample(j));
    if (projector.residual() < 0.1) p.X(11, j) = quiet_nan<double>;
  }
  const Identifiability found = check_identifiability(p.truth, DenseView<double>(p.X), 1);
  CHECK_FALSE(found.is_determined());
  CHECK(found.unobserved == std::vector<uword>{5});
  CHECK(found.hardly_observed == std::vector<uword>{11});
  CHECK(recover(p.X, 3).status == Status::undetermined);
}

TEST_CASE("a rare feature is looked for in all samples") {
  Problem<double> p(40, 20000, 3, 0.2, 0.3, 0.01, 3);
  for (uword j = 0; j < p.X.n_cols; ++j)
    if (j % 400 != 7) p.X(9, j) = quiet_nan<double>;  // 50 of 20 000 may observe it
  CHECK(check_identifiability(p.truth, DenseView<double>(p.X), 1).is_determined());
}

TEST_CASE("blocks that never meet are named, and the fit is not called converged") {
  Problem<double> p(40, 1000, 3, 0.2, 0.1, 0, 4);
  for (uword j = 0; j < p.X.n_cols; ++j)
    p.X.col(j).subvec(j % 2 ? 0 : 20, j % 2 ? 19 : 39).fill(quiet_nan<double>);
  gasg21::Unobserved nobody;
  gasg21::RecoverOptions options;
  options.doubt = false;
  const auto trusting = recover<double>(DenseView<double>(p.X), 3, options, nobody);
  CHECK(trusting.converged());  // the lie
  CHECK(p.angle(trusting.basis) > 0.3);
  const auto honest = recover(p.X, 3);
  CHECK(honest.status == Status::undetermined);
  const auto found = check_identifiability(honest.basis, DenseView<double>(p.X), 1);
  REQUIRE(found.blocks.size() == 2);
  CHECK(found.blocks[0].size() == 20);
  CHECK(found.blocks[1].size() == 20);
}

TEST_CASE("d + 1 inliers do not determine a subspace") {
  Problem<double> p(30, 5, 4, 0, 0, 0, 5);
  CHECK(check_identifiability(p.truth, DenseView<double>(p.X), 1).few_inliers);
  Problem<double> more(30, 50, 4, 0, 0, 0, 5);
  CHECK_FALSE(check_identifiability(more.truth, DenseView<double>(more.X), 1).few_inliers);
}

TEST_CASE("a constant row that is always observed does no harm") {
  Problem<double> p(30, 1000, 3, 0, 0.4, 0, 6);
  arma::mat lifted(31, 1000);
  lifted.head_rows(30) = p.X;
  lifted.row(30).fill(0.1);
  arma::mat U(31, 4, arma::fill::zeros);
  U.submat(0, 0, 29, 2) = p.truth;
  U(30, 3) = 1;
  CHECK(check_identifiability(U, DenseView<double>(lifted), 1).is_determined());
}

TEST_CASE("the number of threads changes nothing") {
  Problem<double> p(60, 2000, 4, 0.3, 0.5, 0.01, 7);
  const auto one = check_identifiability(p.truth, DenseView<double>(p.X), 1);
  const auto four = check_identifiability(p.truth, DenseView<double>(p.X), 1, gasg21::Parallel(4));
  CHECK(one.information == four.information);
  CHECK(one.angle == four.angle);
}
