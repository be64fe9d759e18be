// recover on data of condition 100 with outliers and missing entries. Compares the basis with that
// of GASG21.fit for the same seed: recover DIRECTORY, which holds the files of recover.py.
#include <gasg21/recover.hpp>
#include <iostream>
#include <string>

int main(int, char** argv) {
  const std::string directory = argv[1];
  arma::mat X, expected, truth;
  X.load(directory + "/X.bin", arma::raw_binary);
  expected.load(directory + "/components.bin", arma::raw_binary);
  truth.load(directory + "/truth.bin", arma::raw_binary);
  X.reshape(100, X.n_elem / 100);
  expected.reshape(100, 4);
  truth.reshape(100, 4);

  gasg21::RecoverOptions options;
  options.seed = 7;
  const gasg21::Recovery<double> found = gasg21::recover(X, 4, options);
  const bool same = std::equal(expected.begin(), expected.end(), found.basis.begin());
  std::cout << gasg21::to_string(found.status) << ", " << (same ? "same bits" : "other bits")
            << " as Python, angle to the truth: " << gasg21::largest_angle(found.basis, truth)
            << "\n";
}
