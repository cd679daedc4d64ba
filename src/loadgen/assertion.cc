#include "loadgen/assertion.h"

#include <optional>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/option_text.h"

namespace ferry {

namespace {

// The percentile in "p99.9"; nothing when it is none.
std::optional<double> Percentile(const std::string& figure) {
  if (figure.size() < 2 || figure[0] != 'p') return std::nullopt;
  const std::optional<double> value = ParseReal(figure.substr(1));
  if (!value || *value <= 0 || *value > 100) return std::nullopt;
  return *value / 100;
}

bool IsTime(const std::string& figure) { return figure == "mean" || figure == "max" || Percentile(figure).has_value(); }

std::optional<double> FigureOf(const std::string& figure, const LoadPoint& point) {
  if (const std::optional<double> q = Percentile(figure)) return Seconds(point.response.Quantile(*q));
  if (figure == "mean") return point.response.MeanNanoseconds() / 1e9;
  if (figure == "max") return Seconds(point.response.max());
  if (figure == "rps") return point.requests_per_second;
  if (figure == "ips") return point.requests_per_second * point.rows;
  if (figure == "errors") return static_cast<double>(point.failed);
  if (figure == "wrong") return static_cast<double>(point.wrong);
  if (figure == "dropped") return static_cast<double>(point.dropped);
  if (figure == "error_rate") {
    return point.offered == 0 ? 0.0 : static_cast<double>(point.failed) / static_cast<double>(point.offered);
  }
  return std::nullopt;
}

}  // namespace

Result<Assertion> Assertion::Parse(const std::string& text) {
  const size_t begin = text.find_first_of("<>=");
  const size_t end = text.find_first_not_of("<>=", std::min(begin, text.size()));
  if (begin == std::string::npos || end == std::string::npos) {
    return InvalidArgumentError(
        StrCat("assertion ", Quoted(text), ": must be FIGURE, <, <=, >, >= or ==, and a bound"));
  }
  Assertion assertion;
  assertion.text_ = text;
  assertion.figure_ = text.substr(0, begin);
  assertion.comparison_ = text.substr(begin, end - begin);
  const std::string& comparison = assertion.comparison_;
  if (comparison != "<" && comparison != "<=" && comparison != ">" && comparison != ">=" && comparison != "==") {
    return InvalidArgumentError(
        StrCat("assertion ", Quoted(text), ": ", Quoted(comparison), " is none of < <= > >= =="));
  }
  if (!FigureOf(assertion.figure_, LoadPoint())) {
    return InvalidArgumentError(
        StrCat("assertion ", Quoted(text), ": ", Quoted(assertion.figure_),
               " is none of p50, p99.9 and so on, mean, max, rps, ips, errors, wrong, dropped, error_rate"));
  }
  const std::string bound = text.substr(end);
  if (IsTime(assertion.figure_)) {
    const std::optional<Duration> time = ParseDuration(bound, std::chrono::milliseconds(1));
    if (!time) return InvalidArgumentError(StrCat("assertion ", Quoted(text), ": ", Quoted(bound), " is no time"));
    assertion.bound_ = Seconds(*time);
    return assertion;
  }
  const std::optional<double> number = ParseReal(bound);
  if (!number) return InvalidArgumentError(StrCat("assertion ", Quoted(text), ": ", Quoted(bound), " is no number"));
  assertion.bound_ = *number;
  return assertion;
}

bool Assertion::Holds(const LoadPoint& point) const {
  // A quantile of no answers at all is no good news.
  if (IsTime(figure_) && point.response.count() == 0) return false;
  const double value = FigureOf(figure_, point).value_or(0);
  if (comparison_ == "<") return value < bound_;
  if (comparison_ == "<=") return value <= bound_;
  if (comparison_ == ">") return value > bound_;
  if (comparison_ == ">=") return value >= bound_;
  return value == bound_;
}

std::string Assertion::Explain(const LoadPoint& point) const {
  const double value = FigureOf(figure_, point).value_or(0);
  if (IsTime(figure_) && point.response.count() == 0) return StrCat(text_, " does not hold: there is no answer");
  return IsTime(figure_) ? StrCat(text_, " does not hold: ", figure_, " is ", value * 1e3, " ms")
                         : StrCat(text_, " does not hold: ", figure_, " is ", value);
}

}  // namespace ferry
