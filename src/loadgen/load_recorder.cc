#include "loadgen/load_recorder.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "loadgen/duration_units.h"

namespace ferry {

namespace {

using std::chrono::seconds;

// A server that puts an id into each message would otherwise fill the memory.
constexpr size_t kMostKinds = 100;
constexpr size_t kLongestMessage = 200;

// How much of the time that a request took lies in the window.
double ShareInside(const MeasuredWindow& window, const CallTimes& times) {
  const Duration inside = std::min(times.done, window.end) - std::max(times.sent, window.begin);
  if (inside <= Duration::zero()) return 0;
  return static_cast<double>(inside.count()) / static_cast<double>((times.done - times.sent).count());
}

void MergeClass(ClassResult& into, const ClassResult& other) {
  into.offered += other.offered;
  into.ok += other.ok;
  into.failed += other.failed;
  into.cancelled += other.cancelled;
  into.response.Merge(other.response);
}

}  // namespace

std::string CodeName(int code) {
  static constexpr std::array kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "CODE_" + std::to_string(code);
}

LoadRecorder::LoadRecorder(const MeasuredWindow& window, const std::vector<std::string>& class_names)
    : window_(window), slot_(std::max<Duration>(seconds(1), (window.end - window.begin) / kMostSlots)) {
  slots_.resize(static_cast<size_t>((window.end - window.begin + slot_ - Duration(1)) / slot_));
  for (const std::string& name : class_names) classes_.emplace_back().name = name;
}

LoadRecorder::Slot& LoadRecorder::SlotOf(const CallTimes& times) {
  const TimePoint time = window_.by_due ? times.due : times.done;
  return slots_[static_cast<size_t>((time - window_.begin) / slot_)];
}

void LoadRecorder::Done(const CallTimes& times, const CallEnd& end, size_t class_index) {
  const bool ok = end.code == 0;
  if (ok || !end.given_up) ++(ok ? totals_.ok : totals_.failed);
  if (ok && !window_.by_due) shares_ += ShareInside(window_, times);
  if (!window_.Holds(times)) return;
  ++classes_[class_index].offered;
  lateness_.Record(times.sent - times.due);
  last_ = std::max(last_, times.done);
  if (ok) {
    Answered(times, end.fault, class_index);
  } else if (end.given_up) {
    ++cancelled_;
    ++SlotOf(times).cancelled;
    ++classes_[class_index].cancelled;
  } else {
    ++failed_;
    ++SlotOf(times).failed;
    ++classes_[class_index].failed;
    CountFailure(CodeName(end.code), end.message);
  }
}

void LoadRecorder::Answered(const CallTimes& times, std::string_view fault, size_t class_index) {
  Slot& slot = SlotOf(times);
  ClassResult& kind = classes_[class_index];
  ++ok_;
  ++slot.ok;
  ++kind.ok;
  if (!fault.empty() && ++wrong_ == 1) first_fault_ = Printable(fault, kLongestMessage);
  const Duration response = times.done - times.due;
  response_.Record(response);
  service_.Record(times.done - times.sent);
  slot.response.Record(response);
  kind.response.Record(response);
}

void LoadRecorder::Dropped(TimePoint due, size_t class_index) {
  ++totals_.failed;
  const CallTimes times{due, due, due};
  if (!window_.Holds(times)) return;
  ++failed_;
  ++dropped_;
  ++SlotOf(times).failed;
  ++classes_[class_index].offered;
  ++classes_[class_index].failed;
  CountFailure("DROPPED", "as many requests as may be were under way");
}

void LoadRecorder::CountFailure(std::string code, std::string_view message) {
  std::pair<std::string, std::string> kind{std::move(code), Printable(message, kLongestMessage)};
  if (failures_.size() >= kMostKinds && !failures_.contains(kind)) kind.second = "(further messages)";
  ++failures_[std::move(kind)];
}

void LoadRecorder::Merge(const LoadRecorder& other) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].ok += other.slots_[i].ok;
    slots_[i].failed += other.slots_[i].failed;
    slots_[i].cancelled += other.slots_[i].cancelled;
    slots_[i].response.Merge(other.slots_[i].response);
  }
  response_.Merge(other.response_);
  service_.Merge(other.service_);
  lateness_.Merge(other.lateness_);
  for (size_t i = 0; i < classes_.size(); ++i) MergeClass(classes_[i], other.classes_[i]);
  for (const auto& [kind, count] : other.failures_) failures_[kind] += count;
  shares_ += other.shares_;
  ok_ += other.ok_;
  failed_ += other.failed_;
  dropped_ += other.dropped_;
  cancelled_ += other.cancelled_;
  wrong_ += other.wrong_;
  if (first_fault_.empty()) first_fault_ = other.first_fault_;
  last_ = std::max(last_, other.last_);
  totals_.ok += other.totals_.ok;
  totals_.failed += other.totals_.failed;
}

LoadPoint LoadRecorder::Result() const {
  LoadPoint point;
  point.window = point.measured = window_.end - window_.begin;
  // An open loop is over with its last answer, which may come long after the last request was due.
  if (window_.by_due && last_ > window_.end) point.measured = last_ - window_.begin;
  const double served = window_.by_due ? static_cast<double>(ok_) : shares_;
  point.requests_per_second = served / Seconds(point.measured);
  point.offered = ok_ + failed_ + cancelled_;
  point.ok = ok_;
  point.failed = failed_;
  point.dropped = dropped_;
  point.cancelled = cancelled_;
  point.wrong = wrong_;
  point.first_fault = first_fault_;
  point.response = response_;
  point.service = service_;
  point.lateness = lateness_;
  for (const auto& [kind, count] : failures_) point.failures.push_back({kind.first, kind.second, count});
  std::ranges::sort(point.failures, std::greater(), &FailureCount::count);
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const double begin = Seconds(static_cast<int64_t>(i) * slot_);
    point.seconds.push_back({begin, slot.ok + slot.failed + slot.cancelled, slot.ok, slot.failed,
                             slot.response.Quantile(0.5), slot.response.Quantile(0.99), slot.response.max()});
  }
  if (classes_.size() > 1) point.classes = classes_;
  return point;
}

}  // namespace ferry
