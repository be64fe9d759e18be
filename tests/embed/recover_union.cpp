// What recover_union.py compares with KGASG21. Matrices are raw doubles, one sample after another,
// labels raw 64-bit integers:
//   fit X LABELS MODEL n K d seed center reject    the labels of a fit, and its model file
//   predict X LABELS MODEL                         the labels of new samples by a model file
#include <gasg21/gasg21.hpp>
#include <string>

namespace {

arma::mat samples(const char* path, arma::uword n) {
  arma::mat X;
  X.load(path, arma::raw_binary);
  X.reshape(n, X.n_elem / n);
  return X;
}

arma::uvec fitted_labels(char** given) {
  gasg21::UnionOptions options;
  options.seed = std::stoull(given[6]);
  options.center = std::string(given[7]) == "1";
  options.reject_outliers = std::string(given[8]) == "1";
  const auto found =
      gasg21::recover_union<double>(samples(given[0], std::stoull(given[3])), std::stoull(given[4]),
                                    std::stoull(given[5]), options);
  gasg21::save(found.model, found.stream, given[2]);
  return found.labels;
}

arma::uvec predicted_labels(char** given) {
  const auto model = gasg21::load_union<double>(given[2]);
  const arma::mat X = samples(given[0], model.n_features());
  return model.labels(gasg21::DenseView<double>(X));
}

}  // namespace

int main(int, char** arguments) {
  char** given = arguments + 2;
  const bool fits = std::string(arguments[1]) == "fit";
  const arma::uvec labels = fits ? fitted_labels(given) : predicted_labels(given);
  return labels.save(given[1], arma::raw_binary) ? 0 : 1;
}
