// KSubspaces as Python holds it: any step rule and metric, guarded by a lock.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/k_subspaces.hpp>
#include <gasg21/recovery/stream.hpp>
#include <gasg21/saving/streams.hpp>
#include <gasg21/union/union.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "counters.hpp"
#include "saved.hpp"
#include "turn_lock.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

template <class T>
class PyKSubspaces {
 public:
  using Core = KSubspaces<T, AnyStep, AnyLoss, AnyMetric>;

  explicit PyKSubspaces(Core core) : core_(std::move(core)) {}

  /// Updates with the samples, in the given order or as they are. Returns the subspace that took
  /// each, -1 = none, and their residuals before the update.
  ///
  /// With the union that it streams for, the samples have the coordinates of the data.
  py::tuple consume(const py::object& samples, const py::object& mask, const py::object& order,
                    py::object progress, const Union<T>* fitted) {
    const WorkingSamples located(samples, mask, core_.n(), fitted);
    const AnyView<T>& view = located.view;
    const arma::uvec at = !order.is_none()   ? as_order(order)
                          : view.n_cols == 0 ? arma::uvec()
                                             : arma::regspace<arma::uvec>(0, view.n_cols - 1);
    arma::uvec labels(at.n_elem);
    py::array_t<double> residuals(py::ssize_t(at.n_elem));
    double* next_residual = residuals.mutable_data();
    uword* next_label = labels.memptr();
    require_order(at, view.n_cols);
    Watch watch(std::move(progress), double(core_.n() * core_.size()), &lock_);
    {
      const py::gil_scoped_release nogil;
      const LongTurn turn(lock_);
      run(core_, view, at, [&](const ClusterReport& report) {
        *next_residual++ = report.residual;
        *next_label++ = report.cluster;
        return watch.step(report);
      });
    }
    watch.finish();
    return py::make_tuple(to_labels(labels, core_.size()), residuals);
  }

  py::array_t<std::uint64_t> permutation(uword count) {
    return to_array(alone([&](Core& core) { return core.random().permutation(count); }));
  }

  py::list subspaces() {
    return to_list(alone([](Core& core) { return core.bases(); }));
  }

  /// Continues from the subspaces that a fit found, with steps as long as each may be off.
  void continue_from(const py::list& subspaces, const py::array_t<double>& estimated_angles,
                     const Rule& stream_rule) {
    const auto angles = copy_vector<double>(estimated_angles, core_.size(), "estimated_angles");
    alone([&, bases = copy_bases<T>(subspaces)](Core& core) {
      gasg21::continue_from(core, bases, angles, AnyStep{stream_rule});
    });
  }

  /// Starts to follow the stream from subspaces that a fit has found on these samples.
  void follow_after_fit(const py::object& samples, const py::object& mask,
                        const Following& following, bool settled) {
    const AnyView<T> view = as_view<T>(samples, mask, core_.n());
    alone([&](Core& core) { core.follow_after_fit(following, view, settled); });
  }

  uword replay() {
    return alone([](Core& core) { return core.tracker(0).following().replay; });
  }

  /// The status of the stream and of each subspace, and the changes of each, at one moment.
  py::tuple following() {
    return alone([](Core& core) {
             std::vector<std::string> statuses;
             for (uword k = 0; k < core.size(); ++k)
               statuses.emplace_back(to_string(core.tracker(k).status()));
             return Followed{to_string(core.status()), statuses, core.changes()};
           })
        .to_tuple();
  }

  py::dict counters() {
    return to_dict(alone([](Core& core) { return core.counters(); }));
  }

  std::vector<Rule> rules() {
    return alone([](Core& core) {
      std::vector<Rule> all;
      for (uword k = 0; k < core.size(); ++k) all.push_back(core.tracker(k).rule().rule);
      return all;
    });
  }

  saving::Struct fields() {
    return saving::union_fields<Core>(alone([](Core& core) { return core.state(); }));
  }

  static std::unique_ptr<PyKSubspaces> from_fields(const saving::Struct& fields) {
    return std::make_unique<PyKSubspaces>(saving::read_union<Core>(fields));
  }

  /// Samples in the working coordinates of a union, if there is one: lifted, or whitened copies.
  struct WorkingSamples {
    arma::Mat<T> whitened;
    AnyView<T> view;

    WorkingSamples(const py::object& samples, const py::object& mask, uword n,
                   const Union<T>* fitted)
        : view(as_view<T>(samples, mask, fitted ? fitted->n_features() : n)) {
      if (!fitted) return;
      view = fitted->coordinates().lifted_view(view);
      if (!fitted->coordinates().whitening) return;
      const py::gil_scoped_release nogil;
      whitened = fitted->whitened(view);
      view = DenseView<T>(whitened);
    }
  };

 private:
  struct Followed {
    std::string status;
    std::vector<std::string> statuses;
    std::vector<std::vector<std::uint64_t>> changes;
    py::tuple to_tuple() const { return py::make_tuple(status, statuses, changes); }
  };

  /// Runs with the lock and without the GIL, as in PyTracker.
  template <class Work>
  auto alone(Work&& work) {
    const py::gil_scoped_release nogil;
    const std::lock_guard<TurnLock> lock(lock_);
    return work(core_);
  }

  Core core_;
  TurnLock lock_;
};

}  // namespace gasg21::bindings
