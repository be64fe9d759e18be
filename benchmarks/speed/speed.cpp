// Times one update: plain Armadillo, the library's kernels, the roofline. Driven by the Python
// files beside it; prints one JSON object a line.
//
//   gasg21_speed compare n=2000 d=5 observed=0.7 samples=2000    all variants, interleaved
//   gasg21_speed exact   ... eta0=0.5 updates=1000               angles alone
//   gasg21_speed write   ... updates=300 file=PATH               the problem as raw numbers
//   gasg21_speed count   ... updates=500 variants=paper-avx2     one run, for callgrind
//   gasg21_speed peak                                            of each instruction set
//   gasg21_speed about                                           BLAS and compiler
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "roofline.hpp"
#include "variants.hpp"

extern "C" {
char* openblas_get_config();
char* openblas_get_corename();
void openblas_set_num_threads(int);
}

namespace speed {
namespace {

class Arguments {
 public:
  Arguments(int count, char** words) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      const auto split = word.find('=');
      values_[word.substr(0, split)] = split == word.npos ? "" : word.substr(split + 1);
    }
  }
  double number(const std::string& name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::atof(found->second.c_str());
  }
  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  Task task() const {
    return make_task(make_problem(uword(number("n", 2000)), uword(number("d", 5)),
                                  uword(number("samples", 2000)), number("observed", 0.7),
                                  std::uint64_t(number("seed", 1))),
                     number("eta0", 0.5));
  }
  /// The named ones (a,b,c), or all.
  std::vector<Variant> variants(bool complete) const {
    std::vector<Variant> all = plain_variants(complete);
    for (Variant& variant : our_variants()) all.push_back(std::move(variant));
    if (text("variants").empty()) return all;
    std::vector<Variant> chosen;
    std::istringstream names(text("variants"));
    for (std::string name; std::getline(names, name, ',');)
      for (const Variant& variant : all)
        if (variant.name == name) chosen.push_back(variant);
    return chosen;
  }

 private:
  std::map<std::string, std::string> values_;
};

bool is_complete(const Problem& p) { return p.observed == double(p.n()); }

/// How many updates of the three passes plain Armadillo gets: all, unless they take too long. (Its
/// cost does not depend on how far the fit has come; ours may.)
uword plain_updates(const Task& task, double most_seconds) {
  const uword all = task.problem.order.n_elem, trial = std::min<uword>(10, all);
  const double seconds = fit_plain<plain::Solve>(task, task.problem.order.head(trial)).seconds;
  return std::min(all, std::max<uword>(trial, uword(most_seconds / seconds * double(trial))));
}

/// Every entry of the start moved by about one unit in its last place.
arma::mat nudged(arma::mat U) {
  Random random(7);
  for (double& u : U) u *= 1 + (random.uniform() < 0.5 ? -1 : 1) * arma::datum::eps;
  return U;
}

/// Angles to plain arma::solve after the same first `updates`; and how far arma::solve itself moves
/// when its start does by one unit in the last place: beyond that no two programs can agree.
void print_angles(const Task& task, const std::vector<Variant>& variants, uword updates) {
  const arma::uvec order = task.problem.order.head(updates);
  const arma::mat oracle = fit_plain<plain::Solve>(task, order).basis;
  Task moved = task;
  moved.problem.start = nudged(task.problem.start);
  const double chaos = gasg21::largest_angle(oracle, fit_plain<plain::Solve>(moved, order).basis);
  for (const Variant& variant : variants) {
    const arma::mat basis = variant.fit(task, order).basis;
    std::printf(
        "{\"kind\": \"angle\", \"variant\": \"%s\", \"same\": %s, \"updates\": %d, "
        "\"to_solve\": %.3g, \"chaos\": %.3g, \"orthonormality\": %.3g}\n",
        variant.name.c_str(), variant.same_updates ? "true" : "false", int(updates),
        double(gasg21::largest_angle(oracle, basis)), chaos,
        double(gasg21::orthonormality_error(basis)));
  }
}

struct Timing {
  double seconds = std::numeric_limits<double>::infinity();  // an update
  uword updates = 0;
  double to_truth = 0, near = 0;

  void add(const Fit& fit, uword count) {
    seconds = std::min(seconds, fit.seconds / double(count));
    updates = count;
    near = fit.near;
  }
};

template <class T>
void print_roofline(const Roofline<T>& roofline, const Problem& p, double near, const char* type) {
  const auto number = [](double seconds) {  // JSON has no infinity
    return std::isfinite(seconds) ? seconds : -1;
  };
  std::printf(
      "{\"kind\": \"roofline\", \"type\": \"%s\", \"peak\": %.4g, \"read_write_U\": %.4g, "
      "\"read_x\": %.4g, \"flops\": %.4g, \"bound\": %.4g, \"step\": %.4g, "
      "\"residual\": %.4g, \"near\": %.4g, \"passes\": %.4g}\n",
      type, roofline.peak, roofline.read_write_U, roofline.read_x,
      flops(double(p.n()), double(p.d()), p.observed), roofline.bound(p), number(roofline.step),
      number(roofline.residual), near, number(roofline.bound_of_passes(p, near)));
}

/// Round robin over the variants and the roofline until `budget` seconds are spent; of each the
/// least of the rounds' means over the whole fit.
void compare(const Arguments& arguments) {
  const Task task = arguments.task();
  const Problem& p = task.problem;
  const std::vector<Variant> variants = arguments.variants(is_complete(p));
  const bool some_plain = std::any_of(variants.begin(), variants.end(),
                                      [](const Variant& variant) { return variant.plain; });
  const uword most = some_plain ? plain_updates(task, arguments.number("plain_seconds", 1)) : 0;
  std::vector<Timing> timings(variants.size());
  Roofline<double> roofline;
  Roofline<float> roofline32;
  const double start = thread_seconds(), budget = arguments.number("budget", 6);
  const int least = int(arguments.number("least_rounds", 3));
  int rounds = 0;
  for (; rounds < least || (rounds < 100 && thread_seconds() - start < budget); ++rounds) {
    for (std::size_t k = 0; k < variants.size(); ++k) {
      const arma::uvec order = variants[k].plain ? arma::uvec(p.order.head(most)) : p.order;
      const Fit fit = variants[k].fit(task, order);
      timings[k].add(fit, order.n_elem);
      if (rounds == 0) timings[k].to_truth = gasg21::largest_angle(fit.basis, p.truth);
    }
    for (int repeat = 0; repeat < 3; ++repeat) {
      roofline.measure(task, loop_sets().back());
      roofline32.measure(task, loop_sets().back());
    }
  }
  const auto near_of = [&](const std::string& name) {
    double near = 0;
    for (std::size_t k = 0; k < variants.size(); ++k)
      if (variants[k].name == name) near = timings[k].near;
    return near;
  };
  for (std::size_t k = 0; k < variants.size(); ++k)
    std::printf(
        "{\"kind\": \"time\", \"variant\": \"%s\", \"plain\": %s, \"seconds\": %.5g, "
        "\"updates\": %d, \"rounds\": %d, \"to_truth\": %.3g}\n",
        variants[k].name.c_str(), variants[k].plain ? "true" : "false", timings[k].seconds,
        int(timings[k].updates), rounds, timings[k].to_truth);
  print_roofline(roofline, p, near_of("paper"), "double");
  print_roofline(roofline32, p, near_of("float"), "float");
  if (some_plain) print_angles(task, variants, std::min<uword>(most, 1000));
}

void exact(const Arguments& arguments) {
  const Task task = arguments.task();
  print_angles(task, arguments.variants(is_complete(task.problem)),
               std::min(uword(arguments.number("updates", 1000)), task.problem.order.n_elem));
}

/// The start, the subspace that arma::solve reaches and the truth (n x d each), and the vectors of
/// the first updates (n x updates), each by columns.
void write(const Arguments& arguments) {
  const Task task = arguments.task();
  const arma::uvec order = task.problem.order.head(
      std::min(task.problem.order.n_elem, uword(arguments.number("updates", 300))));
  std::ofstream file(arguments.text("file"), std::ios::binary);
  for (const arma::mat& part : {task.problem.start, fit_plain<plain::Solve>(task, order).basis,
                                task.problem.truth, arma::mat(task.problem.X.cols(order))})
    file.write(reinterpret_cast<const char*>(part.memptr()),
               std::streamsize(part.n_elem * sizeof(double)));
}

void count(const Arguments& arguments) {
  const Task task = arguments.task();
  const arma::uvec order = task.problem.order.head(uword(arguments.number("updates", 500)));
  for (const Variant& variant : arguments.variants(is_complete(task.problem)))
    variant.fit(task, order);
}

void peak(const Arguments&) {
  Task task = make_task(make_problem(1000, 2, 30, 1), 0.5);
  for (const std::string& set : loop_sets()) {
    Roofline<double> roofline;
    Roofline<float> roofline32;
    for (int round = 0; round < 20; ++round) {
      roofline.measure(task, set);
      roofline32.measure(task, set);
    }
    std::printf("{\"kind\": \"peak\", \"set\": \"%s\", \"double\": %.4g, \"float\": %.4g}\n",
                set.c_str(), roofline.peak, roofline32.peak);
  }
}

void about(const Arguments&) {
  std::printf("{\"blas\": \"%s\", \"core\": \"%s\", \"compiler\": \"%s %s\"}\n",
              openblas_get_config(), openblas_get_corename(),
#if defined(__clang__)
              "Clang",
#else
              "GCC",
#endif
              __VERSION__);
}

}  // namespace
}  // namespace speed

int main(int count, char** words) {
  openblas_set_num_threads(1);
  const std::map<std::string, void (*)(const speed::Arguments&)> commands{
      {"compare", speed::compare}, {"exact", speed::exact}, {"write", speed::write},
      {"count", speed::count},     {"peak", speed::peak},   {"about", speed::about}};
  const auto command = commands.find(count > 1 ? words[1] : "");
  if (command == commands.end()) {
    std::fprintf(stderr,
                 "usage: gasg21_speed compare|exact|write|count|peak|about [name=value ...]\n");
    return 2;
  }
  command->second(speed::Arguments(count - 2, words + 2));
}
