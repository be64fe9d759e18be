// Updates a tracker with vectors, half of them outliers, 30 % of the entries missing, and prints
// the angle to the true subspace.
#include <cstdio>
#include <gasg21/gasg21.hpp>
#include <limits>

int main() {
  const arma::uword n = 200, d = 5, vectors = 8000;
  gasg21::Random random(1);
  const arma::mat truth = gasg21::random_basis<double>(n, d, random);
  gasg21::Tracker<double> tracker(n, d, gasg21::AdaptiveStep{}, 2);

  double angle = 0;
  for (arma::uword j = 1; j <= vectors; ++j) {
    arma::vec x(n);
    if (random.uniform() < 0.5) {
      x.imbue([&] { return random.normal(); });  // an outlier
    } else {
      arma::vec weights(d);
      weights.imbue([&] { return random.normal(); });
      x = truth * weights;
    }
    for (double& entry : x)
      if (random.uniform() < 0.3) entry = std::numeric_limits<double>::quiet_NaN();  // missing

    const gasg21::StepReport report = tracker.update(x);
    if (j % 1000 == 0) {
      angle = gasg21::largest_angle(tracker.basis(), truth);
      std::printf("%5d vectors  step %.1e  angle %.1e rad\n", int(j), report.eta, angle);
    }
  }
  return angle < 1e-6 ? 0 : 1;
}
