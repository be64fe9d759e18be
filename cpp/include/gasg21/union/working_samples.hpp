// The samples that take part in a search, in the coordinates in which clusters are sought.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/union/union_coordinates.hpp"

namespace gasg21 {

/// A view of samples. It borrows the data, or copies of its samples.
template <class T>
struct WorkingSamples {
  AnyView<T> view;
  UnionCoordinates<T> coordinates;
  std::shared_ptr<const arma::Mat<T>> copies;  // null = the data itself
};

namespace detail {

/// Calls use(columns, X) for some of the samples at a time, as doubles.
template <class T, class Use>
void for_dense_blocks(const AnyView<T>& view, const std::vector<uword>& columns, const Use& use) {
  constexpr uword block = 1024;
  for (uword from = 0; from < columns.size(); from += block) {
    const auto begin = columns.begin() + std::ptrdiff_t(from);
    const auto end =
        columns.begin() + std::ptrdiff_t(std::min<uword>(columns.size(), from + block));
    const std::vector<uword> some(begin, end);
    use(some, dense_samples(view, some));
  }
}

}  // namespace detail

/// The samples that are no outliers; all of them if these are fewer than `fewest`.
template <class T, class IsOutlier>
std::vector<uword> inlier_columns(const AnyView<T>& view, uword fewest,
                                  const IsOutlier& is_outlier) {
  std::vector<uword> all = part_of(view, 0, view.n_cols).columns, kept;
  detail::for_dense_blocks(view, all, [&](const std::vector<uword>& some, const arma::mat& X) {
    const std::vector<bool> out = is_outlier(X);
    for (uword c = 0; c < some.size(); ++c)
      if (!out[c]) kept.push_back(some[c]);
  });
  return kept.size() >= fewest ? kept : all;
}

/// Copies of some samples in other coordinates, which `apply` computes.
template <class T, class Apply>
WorkingSamples<T> copied_samples(const AnyView<T>& view, const std::vector<uword>& columns,
                                 UnionCoordinates<T> coordinates, const Apply& apply) {
  const auto& whitening = coordinates.whitening;
  arma::Mat<T> copies(whitening ? whitening->n_coordinates() : view.n_rows, columns.size());
  uword at = 0;
  detail::for_dense_blocks(view, columns, [&](const std::vector<uword>& some, const arma::mat& X) {
    copies.cols(at, at + some.size() - 1) = arma::conv_to<arma::Mat<T>>::from(apply(X));
    at += some.size();
  });
  auto kept = std::make_shared<const arma::Mat<T>>(std::move(copies));
  return {AnyView<T>(DenseView<T>(*kept)), std::move(coordinates), kept};
}

}  // namespace gasg21
