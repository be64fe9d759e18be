// union/union.hpp: a union gives what each of its subspaces gives by itself.
#include <cmath>
#include <gasg21/fit/projector.hpp>
#include <gasg21/seeding/choose_lift.hpp>
#include <gasg21/union/fit_screening.hpp>
#include <gasg21/union/union.hpp>
#include <memory>

#include "union_support.hpp"

using gasg21::Assignment;
using gasg21::DenseView;
using gasg21::Lift;
using gasg21::Parallel;
using gasg21::Projector;
using gasg21::random_basis;
using gasg21::Union;
using gasg21::UnionCoordinates;
using gasg21::UnionMember;
using support::eps;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// Flats at random places, and samples of them; NaN = missing.
template <class T>
struct Flats {
  Random random;
  std::vector<UnionMember<T>> truth;
  arma::Mat<T> complete, X;
  arma::uvec labels;

  Flats(uword n, uword d, uword K, uword per, double missing, double noise, std::uint64_t seed)
      : random(seed), complete(n, K * per), labels(K * per) {
    for (uword k = 0; k < K; ++k)
      truth.push_back({random_basis<T>(n, d, random), gaussian<T>(n, random)});
    for (uword j = 0; j < X.n_cols || j < complete.n_cols; ++j) {
      const uword k = labels[j] = j % K;
      complete.col(j) = truth[k].point + truth[k].directions * gaussian<T>(d, random) +
                        T(noise) * gaussian<T>(n, random);
    }
    X = complete;
    for (T& entry : X)
      if (random.uniform() < missing) entry = quiet_nan<T>;
  }

  /// The union of the true flats.
  Union<T> as_union() const {
    const auto lift = std::make_shared<const Lift<T>>(gasg21::choose_lift<T>(DenseView<T>(X)));
    std::vector<arma::Mat<T>> bases;
    for (const auto& flat : truth) {
      arma::Mat<T> U(X.n_rows + 1, flat.directions.n_cols + 1, arma::fill::zeros);
      U.submat(0, 0, X.n_rows - 1, flat.directions.n_cols - 1) = flat.directions;
      U.col(flat.directions.n_cols).head(X.n_rows) = flat.point - lift->centre;
      U(X.n_rows, flat.directions.n_cols) = lift->constant;
      REQUIRE(gasg21::orthonormalize(U));
      bases.push_back(U);
    }
    return {bases, bases, {lift, nullptr}, {}};
  }
};

template <class T>
Assignment<T> with_zero_residuals(const arma::uvec& labels) {
  return {labels, arma::Col<T>(labels.n_elem, arma::fill::zeros)};
}

}  // namespace

TEST_CASE_TEMPLATE("labels and residuals are those of each subspace", T, double, float) {
  const support::Union<T> made(30, {2, 3, 5}, 40, 20, 0.3, 0.1, 1);
  const Union<T> fitted(made.truth);
  const DenseView<T> view(made.X);
  const arma::Mat<T> residuals = fitted.residuals(view);
  const Assignment<T> assigned = fitted.assign(view);
  CHECK(arma::all(fitted.labels(view) == assigned.labels));
  for (uword j = 0; j < made.X.n_cols; ++j) {
    CAPTURE(j);
    for (uword k = 0; k < 3; ++k) {
      Projector<T> alone(made.truth[k]);
      alone.read(view.sample(j));
      CHECK(residuals(k, j) == alone.residual());
    }
    CHECK(assigned.labels[j] == residuals.col(j).index_min());
    CHECK(assigned.residuals[j] == residuals.col(j).min());
  }
}

TEST_CASE("samples without information have no label") {
  const Union<double> fitted(support::Union<double>(20, {2, 4}, 5, 0, 0, 0, 1).truth);
  arma::mat X(20, 4, arma::fill::zeros);
  X.col(1).fill(quiet_nan<double>);
  X.col(2).tail(18).fill(quiet_nan<double>);  // two entries observed, and d = 2
  X.col(2).head(2).fill(1);
  X(3, 3) = arma::datum::inf;
  const Assignment<double> assigned = fitted.assign(DenseView<double>(X));
  CHECK(arma::all(assigned.labels == 2));
  const arma::mat residuals = fitted.residuals(DenseView<double>(X));
  CHECK(arma::all(residuals.col(0) == 0));
  CHECK(assigned.residuals[0] == 0);
  CHECK(!residuals.cols(1, 3).is_finite());
  CHECK(arma::all(fitted.reject(DenseView<double>(X), assigned) == 2));
}

TEST_CASE_TEMPLATE("flats come back as they were made", T, double, float) {
  const Flats<T> made(20, 3, 4, 30, 0.2, 0, 2);
  const Union<T> fitted = made.as_union();
  CHECK(fitted.n_features() == 20);
  CHECK(fitted.dimensions() == std::vector<uword>{3, 3, 3, 3});
  for (uword k = 0; k < 4; ++k) {
    const UnionMember<T> flat = fitted.subspace(k);
    CHECK(gasg21::largest_angle(flat.directions, made.truth[k].directions) < 100 * eps<T>);
    // The points of a flat differ along its directions.
    arma::Col<T> off = flat.point - made.truth[k].point;
    off -= flat.directions * (flat.directions.t() * off);
    CHECK(arma::norm(off) < 1000 * eps<T>);
  }
  CHECK(arma::all(fitted.labels(DenseView<T>(made.X)) == made.labels));
}

TEST_CASE("a lifted view is not lifted again") {
  const Flats<double> made(20, 3, 2, 30, 0.2, 0.1, 3);
  const Union<double> fitted = made.as_union();
  const DenseView<double> view(made.X), high = gasg21::lifted(view, *fitted.coordinates().lift);
  CHECK(same_bits(fitted.residuals(view), fitted.residuals(high)));
  const gasg21::SubsetView<DenseView<double>> some(high, {4, 7, 9});
  CHECK(same_bits(fitted.residuals(some),
                  arma::mat(fitted.residuals(view).cols(arma::uvec{4, 7, 9}))));
  const gasg21::SubsetView<DenseView<double>> low(view, {4, 7, 9});
  CHECK_THROWS_AS((void)fitted.labels(low), std::invalid_argument);
}

TEST_CASE_TEMPLATE("missing entries come from the nearest subspace", T, double, float) {
  const Flats<T> made(25, 3, 3, 60, 0.4, 0, 4);
  const Union<T> fitted = made.as_union();
  const arma::Mat<T> completed = fitted.complete(made.X);
  CHECK(support::distance(completed, made.complete) < (sizeof(T) == 8 ? 1e-9 : 2e-2));
  const arma::uvec observed = arma::find_finite(made.X);
  CHECK(arma::all(completed.elem(observed) == made.X.elem(observed)));
}

TEST_CASE("entries that are not determined stay missing, those of zeros are zero") {
  const support::Union<double> made(12, {3, 4}, 10, 0, 0, 0, 5);
  const Union<double> fitted(made.truth);
  arma::mat X(12, 4, arma::fill::zeros);
  X.rows(6, 11).fill(quiet_nan<double>);
  X.col(1).fill(quiet_nan<double>);
  X.col(2).head(4).fill(quiet_nan<double>);  // two entries are left
  X(4, 2) = 1;
  X(0, 3) = arma::datum::inf;
  const arma::mat completed = fitted.complete(X);
  CHECK(arma::all(completed.col(0) == 0));
  CHECK(completed.col(1).has_nan());
  CHECK(arma::uvec(arma::find_nan(completed.col(2))).n_elem == 10);
  CHECK(completed(4, 2) == 1);
  CHECK(completed(0, 3) == arma::datum::inf);
  CHECK(arma::uvec(arma::find_nan(completed.col(3))).n_elem == 6);
}

TEST_CASE("random directions are rejected, members are not") {
  const support::Union<double> made(40, {3, 3, 5}, 200, 300, 0.2, 0.002, 16);
  const Union<double> fitted(made.truth);
  const DenseView<double> view(made.X);
  const arma::uvec labels = fitted.reject(view, fitted.assign(view));
  CHECK(arma::accu((labels == 3) != (made.labels == 3)) <=
        2);  // one direction in a thousand is near
  const arma::uvec members = arma::find(made.labels < 3);
  CHECK(arma::all(labels.elem(members) == made.labels.elem(members)));
}

TEST_CASE("what lies off the subspaces, but not in a random direction, is above the split") {
  support::Union<double> made(40, {3, 3}, 200, 0, 0, 0.01, 7);
  arma::uvec off = arma::regspace<arma::uvec>(0, 9, 390);
  for (const uword j : off) made.X.col(j) += 0.12 * gaussian<double>(40, made.random);
  const Union<double> plain(made.truth);
  const DenseView<double> view(made.X);
  const Assignment<double> assigned = plain.assign(view);
  CHECK(arma::accu(plain.reject(view, assigned).elem(off) == 2) < off.n_elem / 2);
  const Union<double> splitting = plain.with_split(plain.find_split(view, assigned));
  const arma::uvec labels = splitting.reject(view, assigned);
  CHECK(splitting.split().cut > 0.1);
  CHECK(splitting.split().cut < 0.7);
  arma::uvec rejected = arma::find(labels == 2);
  CHECK(rejected.n_elem == off.n_elem);
  CHECK(arma::all(rejected == off));
}

TEST_CASE("the absolute residual is the relative one times the length") {
  const support::Union<double> made(30, {2, 3}, 20, 0, 0.3, 0.2, 8);
  const DenseView<double> view(made.X);
  const auto own = gasg21::own_residuals(made.truth, view, made.labels);
  for (uword j = 0; j < made.X.n_cols; ++j) {
    const arma::uvec rows = arma::find_finite(made.X.col(j));
    const arma::vec x = arma::vec(made.X.col(j)).elem(rows);
    const arma::mat U = made.truth[made.labels[j]].rows(rows);
    const double residual = arma::norm(x - U * arma::solve(U, x));
    CHECK(own.absolute[j] == doctest::Approx(residual).epsilon(1e-9));
    CHECK(own.relative[j] == doctest::Approx(residual / arma::norm(x)).epsilon(1e-9));
  }
}

TEST_CASE("the score is that of each entry predicted from the others") {
  const support::Union<double> made(15, {2, 2}, 100, 0, 0.1, 0.1, 9);
  const Union<double> fitted(made.truth);
  const DenseView<double> view(made.X);
  const arma::uvec labels = fitted.labels(view);
  const arma::vec reference = gasg21::coordinate_medians<double>(view);
  std::vector<double> errors;
  for (uword k = 0; k < 2; ++k) {
    const auto members = arma::conv_to<std::vector<uword>>::from(arma::find(labels == k));
    const gasg21::SubsetView<DenseView<double>> own(view, members);
    const gasg21::WeightPrior prior = gasg21::learn_prior(made.truth[k], own);
    const arma::mat S =
        made.truth[k] * prior.C * made.truth[k].t() + prior.s * arma::diagmat(prior.noise);
    for (const uword j : members) {
      double wrong = 0, size = 0;
      for (uword i = 0; i < 15; ++i) {
        if (std::isnan(made.X(i, j))) continue;
        arma::uvec rest = arma::find_finite(made.X.col(j));
        rest.shed_rows(arma::find(rest == i));
        const arma::uvec one{i};
        const double expected =
            arma::as_scalar(S(one, rest) * arma::solve(arma::mat(S(rest, rest)),
                                                       arma::vec(made.X.col(j)).elem(rest)));
        wrong += std::pow(made.X(i, j) - expected, 2);
        size += std::pow(made.X(i, j) - reference[i], 2);
      }
      errors.push_back(wrong / size);
    }
  }
  CHECK(fitted.score(view) == doctest::Approx(gasg21::held_out_score(errors)).epsilon(1e-9));
  CHECK(fitted.score(view) > 0.8);
}

TEST_CASE("a perfect union of flats has the score 1, at any offset") {
  for (const double offset : {0.0, 1e4}) {
    Flats<double> made(20, 2, 3, 50, 0, 0, 10);
    for (auto& flat : made.truth) flat.point += offset;
    made.X += offset;
    CHECK(made.as_union().score(DenseView<double>(made.X)) > 1 - 1e-6);
  }
}

TEST_CASE_TEMPLATE("whitened unions work on whitened samples, a block at a time", T, double,
                   float) {
  const support::Union<T> made(40, {3, 3}, 300, 60, 0.1, 0.01, 13);  // more than two blocks
  const DenseView<T> view(made.X);
  const arma::mat X = arma::conv_to<arma::mat>::from(made.X);
  const auto whitening =
      std::make_shared<const gasg21::Whitening>(gasg21::fit_whitening(X, {3, 3}, 1));
  const auto working = arma::conv_to<arma::Mat<T>>::from(whitening->apply(X));
  std::vector<arma::Mat<T>> bases;
  for (uword k = 0; k < 2; ++k) {
    arma::mat C = whitening->directions.t() * arma::conv_to<arma::mat>::from(made.truth[k]);
    C.each_col() /= arma::sqrt(whitening->spread);
    REQUIRE(gasg21::orthonormalize(C));
    bases.push_back(arma::conv_to<arma::Mat<T>>::from(C));
  }
  const Union<T> fitted(made.truth, bases, {nullptr, whitening}, {});
  const Union<T> inside(bases);  // of the whitened samples
  const DenseView<T> inner(working);
  const arma::Mat<T> residuals = inside.residuals(inner);
  CHECK(support::distance(fitted.residuals(view), residuals) < 100 * eps<T>);
  const Assignment<T> assigned = fitted.assign(view);
  CHECK(arma::all(assigned.labels == inside.labels(inner)));
  CHECK(arma::all(fitted.labels(view) == assigned.labels));
  arma::uvec expected = inside.reject(inner, assigned);
  const std::vector<bool> outside = whitening->is_outlier(X);
  for (uword j = 0; j < made.X.n_cols; ++j)
    if (outside[j]) expected[j] = 2;
  const arma::uvec labels = fitted.reject(view, assigned);
  CHECK(arma::all(labels == expected));
  const arma::uvec kept = arma::find(labels < 2);  // of short members the noise may be too large
  CHECK(kept.n_elem > 550);
  CHECK(arma::accu(labels.elem(kept) != made.labels.elem(kept)) <= 1);
  const Assignment<T> threaded = fitted.assign(view, Parallel(3));
  CHECK(same_bits(arma::Mat<T>(threaded.residuals), arma::Mat<T>(assigned.residuals)));
  // The missing entries come from the subspaces of the data.
  const arma::Mat<T> completed = fitted.complete(made.X);
  for (uword j = 0; j < 20; ++j) {
    Projector<T> alone(made.truth[assigned.labels[j]]);
    arma::Mat<T> x = made.X.col(j);
    alone.read(DenseView<T>(x).sample(0));
    alone.fill_missing(x.memptr());
    CHECK(same_bits(arma::Mat<T>(completed.col(j)), x));
  }
}

TEST_CASE("threads change no bit") {
  const Flats<double> made(20, 2, 3, 400, 0.3, 0.1, 11);
  Union<double> fitted = made.as_union();
  const DenseView<double> view(made.X);
  const Assignment<double> assigned = fitted.assign(view);
  fitted = fitted.with_split({0.3});
  const Parallel three(3);
  const Assignment<double> again = fitted.assign(view, three);
  CHECK(arma::all(again.labels == assigned.labels));
  CHECK(same_bits(arma::mat(again.residuals), arma::mat(assigned.residuals)));
  CHECK(arma::all(fitted.reject(view, assigned, three) == fitted.reject(view, assigned)));
  CHECK(same_bits(fitted.complete(made.X, three), fitted.complete(made.X)));
  CHECK(fitted.score(view, three) == fitted.score(view));
}

TEST_CASE("only the subspaces whose bases move change") {
  const support::Union<double> made(20, {2, 3}, 5, 0, 0, 0, 12);
  const Union<double> before(made.truth);
  Random random(1);
  const arma::mat other = random_basis<double>(20, 3, random);
  const Union<double> after = before.moved({made.truth[0], other});
  CHECK(same_bits(after.subspaces()[0], made.truth[0]));
  CHECK(same_bits(after.subspaces()[1], other));
  CHECK(same_bits(after.bases()[1], other));
}

TEST_CASE("parts that do not belong together are refused") {
  Random random(1);
  const arma::mat U = random_basis<double>(20, 2, random), V = random_basis<double>(19, 2, random);
  const auto lift =
      std::make_shared<const Lift<double>>(Lift<double>{arma::vec(19, arma::fill::ones), 1.0});
  const auto refused = [](auto... parts) {
    CHECK_THROWS_AS(Union<double>(parts...), std::invalid_argument);
  };
  using Bases = std::vector<arma::mat>;
  refused(Bases{}, Bases{});
  refused(Bases{U}, Bases{U, U});
  refused(Bases{U}, Bases{random_basis<double>(20, 3, random)});
  refused(Bases{U}, Bases{V});
  refused(Bases{2 * U}, Bases{2 * U});
  refused(Bases{V}, Bases{V}, UnionCoordinates<double>{lift, nullptr});
  CHECK_NOTHROW(Union<double>(Bases{U}, Bases{U}, UnionCoordinates<double>{lift, nullptr}));
  CHECK_THROWS_AS((void)Union<double>(Bases{U}).labels(DenseView<double>(V)),
                  std::invalid_argument);
}
