// Which samples are outliers: by their residuals in the data's units, and, where outliers look like
// random directions, by the mixture. Learnt from fits to one basis.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gasg21/inliers/fitted.hpp"
#include "gasg21/inliers/mixture.hpp"
#include "gasg21/inliers/residual_cut.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/special_functions.hpp"

namespace gasg21 {

/// The residual up to which a unit-norm sample counts as an exact fit: rounding, or what the error
/// of a converged fit leaves.
inline double exact_residual(double epsilon, bool converged, double estimated_angle) {
  const double rounding = 1e3 * epsilon;
  return converged ? std::max(rounding, 10 * std::max(estimated_angle, 1e-6)) : rounding;
}

/// ln of the squared residual per degree of freedom, in the data's units. Residuals are not below
/// rounding.
inline double log_residual(double r2, double N, double norm, uword d) {
  return std::log(std::max(r2, least_r2) / (N - double(d))) + 2 * std::log(norm);
}

/// The chi-squared law of squared residuals, for numbers of degrees of freedom: its median, and ln
/// of quantiles over the median.
class NoiseLaw {
 public:
  struct Above {
    double median, at_95, at_9999;
  };

  const Above& operator()(double k) {
    const auto [at, is_new] = known_.try_emplace(k);
    if (is_new) {
      const double middle = chi_squared_quantile(level_of_median, k);
      at->second = {middle, std::log(chi_squared_quantile(level_95, k) / middle),
                    std::log(chi_squared_quantile(level_9999, k) / middle)};
    }
    return at->second;
  }

 private:
  std::unordered_map<double, Above> known_;
};

/// A decision learnt from fits. Plain values, so that it can be stored.
struct Decision {
  uword n = 0;            // coordinates
  arma::mat C;            // scatter of the inliers' weights; empty = too few fits to learn from
  double s = 0;           // scatter of their residuals
  double share = 1;       // of the inliers in the mixture
  bool believed = false;  // outliers look random, so the mixture decides too
  bool excuses = false;   // small residuals acquit what the mixture calls random
  double exact = 0;       // residuals of unit-norm samples up to here are exact; 0 = none are
  double centre = 0;      // of the inliers' log residuals
  double cut = std::numeric_limits<double>::infinity();  // their end, before the noise law
  double n_inliers = 0;                                  // among the fits
  double flagged = 0;                                    // share of the fits that tell something
  bool explains_too_little = true;  // a random direction of usual length would pass

  /// cut - ln residual for each sample: below 0 is an outlier. Where the mixture alone makes the
  /// sample an outlier, the cut is lower. NaN for samples that tell nothing. `fresh`: the samples
  /// were not in the fit, so their residuals are larger.
  arma::vec margins(const Fitted& fitted, bool fresh) const;

  /// The highest log residual of an inlier, and of one that the mixture calls random.
  double limit(const NoiseLaw::Above& noise) const { return std::max(cut, centre + noise.at_9999); }
  double excused_limit(const NoiseLaw::Above& noise) const {
    constexpr double nearer = 0.53;  // 95 % instead of 99.9 % of a normal law
    return std::max(centre + nearer * (cut - centre), centre + noise.at_95);
  }
};

inline arma::vec Decision::margins(const Fitted& fitted, bool fresh) const {
  const uword d = fitted.W.n_rows;
  require(C.empty() || (C.n_rows == d && n == fitted.n), "the decision is about ", C.n_rows,
          " weights of ", n, " coordinates, not ", d, " of ", fitted.n);
  arma::vec result(fitted.W.n_cols);
  arma::vec odds(result.n_elem, arma::fill::zeros);
  if (believed) {
    SampleFits<double> fits = to_weigh(fitted);
    odds = Mixture({C, s}, share, n).log_odds(fits);
  }
  const double usual = std::max(n_inliers - double(d), 1.0);
  const double more = fresh ? std::log((usual + 2 * double(d)) / usual) : 0;
  NoiseLaw law;
  for (uword j = 0; j < result.n_elem; ++j) {
    if (!tells(fitted, j)) {
      result[j] = arma::datum::nan;
      continue;
    }
    const double N = fitted.count[j];
    const double u = log_residual(fitted.r2[j], N, fitted.norm[j], d) - more;
    const NoiseLaw::Above& noise = law(N - double(d));
    double margin = limit(noise) - u;
    if (odds[j] < 0)
      margin = std::min(margin, excuses ? excused_limit(noise) - u : odds[j] * 2 / N);
    const double r2 = std::max(fitted.r2[j], least_r2);
    if (r2 <= exact * exact) margin = std::max(margin, std::log(exact * exact / r2));
    result[j] = margin;
  }
  return result;
}

namespace detail {

/// The steps of `decide`.
class Judge {
 public:
  Judge(const Fitted& fitted, double exact) : fitted_(fitted), d_(fitted.W.n_rows) {
    for (uword j = 0; j < fitted.W.n_cols; ++j)
      if (tells(fitted, j)) telling_.push_back(j);
    result_.n = fitted.n;
    find_exact(exact);
  }

  Decision decide() {
    const auto has_weights = [&](uword j) { return fitted_.r2[j] < 1; };
    if (telling_.size() <= d_ + 1 || select(has_weights).empty()) return result_;
    believe();
    place_cut();
    if (result_.believed) result_.excuses = may_excuse();
    count();
    return result_;
  }

 private:
  const Fitted& fitted_;
  uword d_;
  std::vector<uword> telling_;  // samples with a residual
  arma::vec odds_;
  double plausible_ = 0, lost_ = 0;
  NoiseLaw law_;
  Decision result_;

  bool is_exact(uword j) const { return fitted_.r2[j] <= result_.exact * result_.exact; }
  double log_residual_of(uword j) const {
    return log_residual(fitted_.r2[j], fitted_.count[j], fitted_.norm[j], d_);
  }
  template <class Condition>
  std::vector<uword> select(Condition&& condition) const {
    std::vector<uword> chosen;
    for (const uword j : telling_)
      if (condition(j)) chosen.push_back(j);
    return chosen;
  }

  /// A few exact fits say nothing: d samples always fit.
  void find_exact(double exact) {
    result_.exact = exact;
    const auto found = double(select([&](uword j) { return is_exact(j); }).size());
    if (!(found > std::max(2.0 * double(d_), 0.05 * double(telling_.size())))) result_.exact = 0;
  }

  /// Believe in random outliers if those that the mixture finds look random, and are more than
  /// inliers of this scatter would make.
  void believe() {
    SampleFits<double> fits = to_weigh(fitted_);
    const Mixture mixture = fit_mixture(fits, fitted_.n);
    result_.C = mixture.scatter().C;
    result_.s = mixture.scatter().s;
    result_.share = mixture.share();
    odds_ = mixture.log_odds(fits);
    const std::vector<uword> random = select([&](uword j) { return odds_[j] < 0; });
    const auto k = double(random.size());
    if (k < 3 || distance_from_random(fitted_, random) > std::max(0.2, 1.63 / std::sqrt(k))) return;
    lost_ = mixture.lost_inliers(fits);
    plausible_ = 3 + 3 * lost_ * (double(telling_.size()) - k);
    result_.believed = k > plausible_;
  }

  /// Samples that are taken for inliers before the residuals are looked at.
  std::vector<uword> presumed() const {
    const bool some = result_.exact > 0;
    const auto chosen = select(
        [&](uword j) { return (!result_.believed || odds_[j] >= 0) && (!some || is_exact(j)); });
    return chosen.empty() ? telling_ : chosen;
  }

  void place_cut() {
    std::vector<double> values;
    for (const uword j : presumed()) values.push_back(log_residual_of(j));
    const CutRule& rule = result_.believed ? cut_of_cleaned : cut_of_all;
    const ResidualCut found = find_cut(std::move(values), rule, result_.exact == 0);
    result_.centre = found.centre;
    result_.cut = found.cut;
  }

  /// Inliers of small weight have a random direction. But if more are acquitted than the scatter
  /// explains, they are outliers of small norm. Where the scatter loses many inliers anyway, it
  /// does not tell the two apart.
  bool may_excuse() {
    constexpr double many_lost = 0.02;
    const auto excused = select([&](uword j) {
      return odds_[j] < 0 &&
             log_residual_of(j) <= result_.excused_limit(law_(fitted_.count[j] - double(d_)));
    });
    return lost_ > many_lost || double(excused.size()) <= plausible_;
  }

  void count() {
    const arma::vec margins = result_.margins(fitted_, false);
    const double all = double(telling_.size());
    result_.n_inliers = double(select([&](uword j) { return margins[j] >= 0; }).size());
    result_.flagged = 1 - result_.n_inliers / all;
    const std::vector<uword> usual = presumed();
    double passing = 0;
    for (const uword j : usual) {
      const double random = 2 * std::log(fitted_.norm[j]) - std::log(fitted_.count[j]);
      passing += result_.limit(law_(fitted_.count[j] - double(d_))) > random;
    }
    result_.explains_too_little = !result_.believed && passing > 0.5 * double(usual.size());
  }
};

}  // namespace detail

/// Learns from fits which samples are outliers. `exact`: see `exact_residual`; 0 = no fit counts as
/// exact.
inline Decision decide(const Fitted& fitted, double exact) {
  const uword m = fitted.W.n_cols;
  require(fitted.r2.n_elem == m && fitted.count.n_elem == m && fitted.norm.n_elem == m,
          "the fits of ", m, " samples have ", fitted.r2.n_elem, ", ", fitted.count.n_elem, " and ",
          fitted.norm.n_elem, " residuals, counts and norms");
  require(exact >= 0, "exact = ", exact, " must not be negative");
  return detail::Judge(fitted, exact).decide();
}

}  // namespace gasg21
