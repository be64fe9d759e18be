// recovery/recentre.hpp: how far a centre lies off an affine subspace, by L1 fits.
#include <gasg21/data/views.hpp>
#include <gasg21/loss.hpp>
#include <gasg21/recovery/recentre.hpp>

#include "support.hpp"

using gasg21::DenseView;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::uword;

TEST_CASE("the median residuals are the offset across the subspace, despite corrupted entries") {
  Random random(1);
  const uword n = 60, d = 2, m = 400;
  const arma::mat V = gasg21::random_basis<double>(n, d, random);
  const arma::vec offset = 0.05 * gaussian<double>(n, random);
  arma::mat X = V * gaussian<double>(d, m, random);
  X.each_col() += offset;
  for (double& entry : X) {
    if (random.uniform() < 0.05) entry += 20 * random.normal();
    if (random.uniform() < 0.2) entry = quiet_nan<double>;
  }
  X.row(7).fill(quiet_nan<double>);
  const arma::vec found = gasg21::median_residuals(V, DenseView<double>(X), gasg21::L1Loss{});
  arma::vec across = offset - V * (V.t() * offset);
  CHECK(found[7] == 0);
  across[7] = 0;
  CHECK(arma::norm(found - across) < 0.3 * arma::norm(across));
}
