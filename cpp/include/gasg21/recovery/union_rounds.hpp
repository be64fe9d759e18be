// K subspaces between the rounds of the polish over blocks of data.
#pragma once

#include <utility>
#include <vector>

#include "gasg21/polish/round.hpp"
#include "gasg21/recovery/block_sums.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

template <class T>
class UnionRounds {
 public:
  /// An empty scatter is unknown: the first round only finds it.
  UnionRounds(const std::vector<arma::Mat<T>>& bases, const std::vector<Scatter>& scatters,
              double tol)
      : tol_(tol), estimated_angles_(bases.size()) {
    require(!bases.empty() && scatters.size() == bases.size(),
            "there must be one scatter per subspace");
    for (uword k = 0; k < bases.size(); ++k)
      rounds_.emplace_back(bases[k], RoundOptions::of_cluster(), scatters[k]);
    estimated_angles_.fill(arma::datum::pi / 2);
  }

  /// Ends a round with the sums over all blocks. A subspace with too few members stays.
  void end(const UnionSums& sums, uword n_samples) {
    require(sums.sums.size() == size(), "there must be the sums of ", size(), " subspaces");
    PassRecord record;
    record.stage = Stage::polish;
    record.n_samples = n_samples;
    record.moved.zeros(size());
    record.members.set_size(size());
    settled_ = true;
    for (uword k = 0; k < size(); ++k) {
      const BlockSums& own = sums.sums[k];
      record.members[k] = own.usage.counters.used();
      if (!(own.scatter.weight > 0) || record.members[k] <= rounds_[k].basis().n_cols) continue;
      record.moved[k] = end_round(rounds_[k], own);
      estimated_angles_[k] = rounds_[k].estimated_angle();
      settled_ &= has_settled<T>(record.moved[k], estimated_angles_[k], tol_);
    }
    record.estimated_angle = estimated_angles_;
    history_.push_back(std::move(record));
  }

  uword size() const { return rounds_.size(); }
  const Round<T>& operator[](uword k) const { return rounds_[k]; }
  bool settled() const { return settled_; }
  Status status() const {
    return settled_ ? verdict<T>(estimated_angles_, tol_) : Status::max_passes;
  }
  const arma::vec& estimated_angles() const { return estimated_angles_; }
  const std::vector<PassRecord>& history() const { return history_; }

 private:
  double tol_;
  std::vector<Round<T>> rounds_;
  arma::vec estimated_angles_;
  std::vector<PassRecord> history_;
  bool settled_ = false;
};

}  // namespace gasg21
