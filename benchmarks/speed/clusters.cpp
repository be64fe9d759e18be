// Times K subspaces: the assignment of samples and one update, ours against one arma::solve per
// subspace and sample, interleaved in one run, the least of the rounds; and a bound of the
// assignment. Plain Armadillo and the updates take the first 2000 samples only.
//
//   gasg21_clusters [n=100] [d=3] [K=20] [observed=0.7] [samples=2000] [rounds=5]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gasg21/fit/assign.hpp>
#include <gasg21/k_subspaces.hpp>
#include <limits>
#include <vector>

#include "roofline.hpp"
#include "variants.hpp"

extern "C" void openblas_set_num_threads(int);

namespace speed {
namespace {

double argument(int count, char** words, const char* name, double otherwise) {
  for (int i = 1; i < count; ++i)
    if (std::strncmp(words[i], name, std::strlen(name)) == 0 && words[i][std::strlen(name)] == '=')
      return std::atof(words[i] + std::strlen(name) + 1);
  return otherwise;
}

/// Samples of K random subspaces, a fifth of them outliers; NaN = missing.
struct Union {
  std::vector<arma::mat> start;  // the subspaces, slightly rotated
  arma::mat X;

  Union(uword n, uword d, uword K, double observed, uword m) : X(n, m) {
    Random random(1);
    std::vector<arma::mat> truth;
    for (uword k = 0; k < K; ++k) {
      truth.push_back(gasg21::random_basis<double>(n, d, random));
      start.push_back(truth[k]);
      for (double& u : start[k]) u += 0.3 / std::sqrt(double(n)) * random.normal();
      gasg21::orthonormalize(start[k]);
    }
    for (uword j = 0; j < m; ++j) {
      arma::vec w(d);
      for (double& v : w) v = random.normal();
      X.col(j) = truth[j % K] * w;
      for (double& x : X.col(j)) {
        if (j % 5 == 0) x = random.normal();
        if (random.uniform() >= observed) x = arma::datum::nan;
      }
    }
  }
};

/// As one writes it: the nearest subspace by one least-squares problem for each.
arma::uvec assign_plainly(const std::vector<arma::mat>& bases, const arma::mat& X) {
  arma::uvec labels(X.n_cols);
  for (uword j = 0; j < X.n_cols; ++j) {
    const arma::vec column = X.col(j);
    const arma::uvec rows = arma::find_finite(column);
    const arma::vec x = column.elem(rows);
    double least = std::numeric_limits<double>::infinity();
    for (uword k = 0; k < bases.size(); ++k) {
      const arma::mat A = bases[k].rows(rows);
      const double r = arma::norm(x - A * arma::solve(A, x));
      if (r < least) {
        least = r;
        labels[j] = k;
      }
    }
  }
  return labels;
}

}  // namespace
}  // namespace speed

int main(int count, char** words) {
  using namespace speed;
  openblas_set_num_threads(1);
  const auto number = [&](const char* name, double otherwise) {
    return argument(count, words, name, otherwise);
  };
  const uword n = uword(number("n", 100)), d = uword(number("d", 3)), K = uword(number("K", 20));
  const uword m = uword(number("samples", 2000));
  const double observed = number("observed", 0.7);
  const Union data(n, d, K, observed, m);
  const gasg21::DenseView<double> view(data.X);
  const gasg21::SubspaceBank<double> bank(data.start);
  const arma::mat first = data.X.head_cols(std::min<uword>(m, 2000));
  const gasg21::DenseView<double> first_view(first);
  const Loops<double> loop = loops<double>(loop_sets().back());
  double plain = 1e9, ours = 1e9, update = 1e9, read = 1e9, peak = 0;
  bool same = true;
  for (int round = 0; round < int(number("rounds", 5)); ++round) {
    arma::uvec expected, labels;
    plain = std::min(plain, seconds_of([&] { expected = assign_plainly(data.start, first); }));
    ours = std::min(ours, seconds_of([&] { labels = gasg21::assign_labels(bank, view); }));
    same = same && arma::all(labels.head(first.n_cols) == expected);
    read = std::min(read, seconds_of([&] { loop.read(data.X.memptr(), data.X.n_elem); }));
    double flops = 0;
    const double seconds = seconds_of([&] { flops = loop.multiply_add(2000000); });
    peak = std::max(peak, flops / seconds);
    gasg21::KSubspaces<double, gasg21::AdaptiveStep, gasg21::L21Loss, gasg21::NoScaling> subspaces(
        data.start, gasg21::AdaptiveStep::paper());
    update = std::min(update, seconds_of([&] {
                        for (uword j = 0; j < first.n_cols; ++j)
                          subspaces.update(first_view.sample(j));
                      }));
  }
  // Of each sample and subspace G = U_Omega'U_Omega and b = U_Omega'x, unless G = I.
  const double sums = double(d) * (observed < 1 ? double(d + 3) / 2 : 1);
  const double entries = observed * double(n) * double(m);
  const double bound = 2 * entries * double(K) * sums / peak + read;
  const double microseconds = 1e6 / double(m), microseconds_first = 1e6 / double(first.n_cols);
  std::printf(
      "{\"kind\": \"clusters\", \"n\": %d, \"d\": %d, \"K\": %d, \"observed\": %g, "
      "\"assign_us\": %.3g, \"bound_us\": %.3g, \"plain_us\": %.4g, \"ratio\": %.1f, "
      "\"update_us\": %.3g, "
      "\"same_labels\": %s}\n",
      int(n), int(d), int(K), observed, ours * microseconds, bound * microseconds,
      plain * microseconds_first, plain * microseconds_first / (ours * microseconds),
      update * microseconds_first, same ? "true" : "false");
}
