// The fields of what is known about the inliers.
#pragma once

#include "gasg21/inliers/subspace.hpp"
#include "gasg21/saving/fields.hpp"

namespace gasg21::saving {

template <>
struct Fields<Fitted> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("n", s.n);
    v("W", s.W);
    v("r2", s.r2);
    v("count", s.count);
    v("norm", s.norm);
  }
};

template <>
struct Fields<WeightPrior> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("C", s.C);
    v("s", s.s);
    v("noise", s.noise);
  }
};

template <>
struct Fields<EntryRange> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("low", s.low);
    v("high", s.high);
    v("largest", s.largest);
  }
};

template <>
struct Fields<Evidence> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("fits", s.fits);
    v("prior", s.prior);
    v("range", s.range);
  }
};

template <>
struct Fields<FitKind> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("exact", s.exact);
    v("in_sample", s.in_sample);
    v("rotate", s.rotate);
  }
};

}  // namespace gasg21::saving
