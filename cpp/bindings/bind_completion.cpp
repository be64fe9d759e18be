// Missing and held-out entries, for Python: the law of the weights, completion, and the score.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/fit/completer.hpp>
#include <gasg21/inliers/held_out_score.hpp>
#include <gasg21/inliers/weight_prior.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "array_view.hpp"
#include "each_sample.hpp"
#include "lift.hpp"
#include "module.hpp"
#include "prior.hpp"

namespace gasg21::bindings {

namespace {

/// Calls work(j, completer) for each sample, on several threads.
template <class T, class Work>
void each_completed(const arma::Mat<T>& U, const AnyView<T>& view, const WeightPrior& prior,
                    const EntryRange& range, unsigned n_threads, Work&& work) {
  each_sample<T>(
      view, n_threads, double(U.n_cols) * double(U.n_cols),
      [&] { return Completer<T>(U, prior, range); },
      [&](uword j, const AnySample<T>& sample, Completer<T>& completer) {
        completer.read(sample);
        work(j, completer);
      });
}

/// Rows of a sample before it is lifted.
template <class T>
uword rows_before(const std::shared_ptr<const Lift<T>>& lift, uword n) {
  return lift ? lift->centre.n_elem : n;
}

template <class T>
void complete_in(const py::array& components, const py::object& samples, const py::object& mask,
                 py::array out, const PriorTuple& prior, const std::optional<RangeTuple>& range,
                 const py::object& lift_, unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const auto lift = unpack_lift<T>(lift_);
  const uword n = rows_before<T>(lift, U.n_rows);
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, n), lift);
  Output<T> written(std::move(out), view.n_cols, n);
  const EntryRange seen = range ? as_range(*range) : EntryRange{};
  const T* centre = lift ? lift->centre.memptr() : nullptr;
  T* to = written.data();
  each_completed<T>(
      U, view, as_prior(prior), seen, n_threads,
      [&](uword j, Completer<T>& completer) { completer.fill_missing(to + j * n, n, centre); });
}

template <class T>
py::array_t<double> held_out_errors_in(const py::array& components, const py::object& samples,
                                       const py::object& mask, const PriorTuple& prior,
                                       const DoubleArray& reference, const py::object& lift_,
                                       unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const auto lift = unpack_lift<T>(lift_);
  const uword n = rows_before<T>(lift, U.n_rows);
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, n), lift);
  require(uword(reference.size()) == n, "the reference has ", reference.size(), " entries, not ",
          n);
  arma::vec from = as_vec(reference);
  if (lift) from -= arma::conv_to<arma::vec>::from(lift->centre);
  py::array_t<double> errors(py::ssize_t(view.n_cols));
  double* to = errors.mutable_data();
  each_completed<T>(U, view, as_prior(prior), {}, n_threads, [&](uword j, Completer<T>& completer) {
    to[j] = completer.held_out_error(n, from.memptr());
  });
  return errors;
}

template <class T>
py::array_t<double> score_reference_in(const py::object& samples, const py::object& mask, uword n) {
  const AnyView<T> view = as_view<T>(samples, mask, n);
  arma::vec reference;
  {
    const py::gil_scoped_release nogil;
    reference = score_reference<T>(view);
  }
  return to_column_array(reference);
}

template <class T>
py::tuple learn_prior_in(const py::array& components, const py::object& samples,
                         const py::object& mask, const py::object& lift_) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const auto lift = unpack_lift<T>(lift_);
  const uword n = rows_before<T>(lift, U.n_rows);
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, n), lift);
  WeightPrior prior;
  {
    const py::gil_scoped_release nogil;
    prior = learn_prior(U, view);
  }
  return to_tuple(prior);
}

template <class T>
py::tuple entry_range_in(const py::object& samples, const py::object& mask, uword n,
                         const py::object& lift_) {
  const auto lift = unpack_lift<T>(lift_);
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, rows_before<T>(lift, n)), lift);
  EntryRange range;
  {
    const py::gil_scoped_release nogil;
    range = entry_range<T>(view);
  }
  return to_tuple(range);
}

py::tuple learn_prior_from_fits(const DoubleArray& W, const DoubleArray& r2,
                                const DoubleArray& count, const DoubleArray& norm, uword n) {
  require(W.ndim() == 2 && W.shape(1) >= 1 && n >= 1 && r2.size() == W.shape(0) &&
              count.size() == W.shape(0) && norm.size() == W.shape(0),
          "W must be (m, d), d and n at least 1, and r2, count and norm must have m entries");
  return to_tuple(learn_prior(Fitted{n, arma::mat(W.data(), uword(W.shape(1)), uword(W.shape(0))),
                                     as_vec(r2), as_vec(count), as_vec(norm)}));
}

}  // namespace

void bind_completion(py::module_& m) {
  m.def(
      "learn_prior",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::object& lift_) {
        return in_precision_of(components, [&](auto zero) {
          return learn_prior_in<decltype(zero)>(components, samples, mask, lift_);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask") = py::none(),
      py::arg("lift") = py::none(),
      "(C, s, noise): scatter of the true weights, noise of an entry, and its share in each "
      "coordinate (None = alike), for samples whose entries have the mean square 1.");
  m.def("learn_prior_from_fits", &learn_prior_from_fits, py::arg("W"), py::arg("r2"),
        py::arg("count"), py::arg("norm"), py::arg("n"),
        "The same from fits of unit-norm samples alone; needs many more entries than weights.");
  m.def(
      "entry_range",
      [](const py::object& samples, const py::object& mask, uword n, const py::object& lift_) {
        return in_precision_of(values_of(samples), [&](auto zero) {
          return entry_range_in<decltype(zero)>(samples, mask, n, lift_);
        });
      },
      py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("lift") = py::none(),
      "(low, high, largest): range of each coordinate of the basis, n of them, and the largest "
      "r.m.s. entry of a sample.");
  m.def(
      "complete",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::array& out, const PriorTuple& prior, const std::optional<RangeTuple>& range,
         const py::object& lift_, unsigned n_threads) {
        in_precision_of(components, [&](auto zero) {
          complete_in<decltype(zero)>(components, samples, mask, out, prior, range, lift_,
                                      n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("out"), py::arg("prior"),
      py::arg("range") = py::none(), py::arg("lift") = py::none(), py::arg("n_threads") = 1,
      "Writes the missing entries of the samples, expected under the prior, into out.");
  m.def(
      "held_out_errors",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const PriorTuple& prior, const DoubleArray& reference, const py::object& lift_,
         unsigned n_threads) {
        return in_precision_of(components, [&](auto zero) {
          return held_out_errors_in<decltype(zero)>(components, samples, mask, prior, reference,
                                                    lift_, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("prior"),
      py::arg("reference"), py::arg("lift") = py::none(), py::arg("n_threads") = 1,
      "Squared error of each sample when each of its entries is predicted from the others, over "
      "its squared distance from the reference.");
  m.def(
      "score_reference",
      [](const py::object& samples, const py::object& mask, uword n) {
        return in_precision_of(values_of(samples), [&](auto zero) {
          return score_reference_in<decltype(zero)>(samples, mask, n);
        });
      },
      py::arg("samples"), py::arg("mask"), py::arg("n"),
      "The medians of the features over some of the samples; zeros if they are few.");
  m.def(
      "held_out_score", [](const std::vector<double>& errors) { return held_out_score(errors); },
      py::arg("errors"), "1 minus a robust mean of the errors.");
}

}  // namespace gasg21::bindings
