#include "loadgen/trace.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <unordered_map>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/option_text.h"
#include "loadgen/uniform.h"

namespace ferry {

namespace {

using Fields = std::vector<std::string_view>;

constexpr size_t kMinuteOneColumn = 4;  // of Azure Functions 2019

// A line of one format becomes requests, in the trace's own time..
struct Format {
  Status (*read)(const Fields& fields, std::mt19937_64& random, std::vector<TraceRequest>& requests);
  size_t fields = 0;             // that each line must have, as the header has
  bool starts_at_first = false;  // times have no start of their own
};

Status NotANumber(std::string_view field, std::string_view name) {
  return InvalidArgumentError(StrCat(name, " ", Quoted(field), " is not a number of 0 or more"));
}

std::optional<Duration> ReadSeconds(std::string_view field, double unit) {
  const std::optional<double> number = ParseReal(field);
  if (!number || *number < 0) return std::nullopt;
  return DurationOfSeconds(*number * unit);
}

Status ReadOwn(const Fields& fields, std::mt19937_64&, std::vector<TraceRequest>& requests) {
  const std::optional<Duration> at = ReadSeconds(fields[0], 1e-3);
  if (!at) return NotANumber(fields[0], "t_ms");
  requests.push_back({*at, fields.size() > 1 ? std::string(fields[1]) : ""});
  return {};
}

Status ReadFunctions2019(const Fields& fields, std::mt19937_64& random, std::vector<TraceRequest>& requests) {
  for (size_t column = kMinuteOneColumn; column < fields.size(); ++column) {
    const std::optional<uint32_t> count = ParseNumber<uint32_t>(fields[column]);
    const size_t minute = column - kMinuteOneColumn;
    if (!count) return NotANumber(fields[column], StrCat("minute ", minute + 1, ":"));
    for (uint32_t i = 0; i < *count; ++i) {
      const double seconds = 60.0 * (static_cast<double>(minute) + UniformUnit(random));
      requests.push_back({*DurationOfSeconds(seconds), std::string(fields[2])});
    }
  }
  return {};
}

Status ReadFunctions2021(const Fields& fields, std::mt19937_64&, std::vector<TraceRequest>& requests) {
  const std::optional<Duration> end = ReadSeconds(fields[2], 1);
  if (!end) return NotANumber(fields[2], "end_timestamp");
  const std::optional<Duration> duration = ReadSeconds(fields[3], 1);
  if (!duration) return NotANumber(fields[3], "duration");
  requests.push_back({*end - *duration, std::string(fields[1])});
  return {};
}

// The digits at a place of a date.
std::optional<int> Digits(std::string_view text, size_t begin, size_t count) {
  if (text.size() < begin + count) return std::nullopt;
  int number = 0;
  for (const char digit : text.substr(begin, count)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

// "2023-11-16 18:15:46.6805900", or with "+00:00" at its end, as a time since 1970. The fraction may be absent.
std::optional<Duration> ReadTimestamp(std::string_view text) {
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  const auto year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const auto hour = Digits(text, 11, 2), minute = Digits(text, 14, 2);
  if (!year || !month || !day || !hour || !minute || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      text.size() < 19 || text[16] != ':' || *hour > 23 || *minute > 59 || !Digits(text, 17, 2)) {
    return std::nullopt;
  }
  // Seconds of two digits may begin with a nought, which from_chars does not mind.
  const std::optional<double> seconds = ParseReal(text.substr(17));
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || !seconds || *seconds >= 61) return std::nullopt;
  const Duration since_1970 = std::chrono::sys_days(date).time_since_epoch();
  return since_1970 + std::chrono::hours(*hour) + std::chrono::minutes(*minute) + *DurationOfSeconds(*seconds);
}

Status ReadLlm(const Fields& fields, std::mt19937_64&, std::vector<TraceRequest>& requests) {
  const std::optional<Duration> at = ReadTimestamp(fields[0]);
  if (!at) {
    return InvalidArgumentError(
        StrCat("TIMESTAMP ", Quoted(fields[0]), " is no time such as 2023-11-16 18:15:46.6805900"));
  }
  requests.push_back({*at, ""});
  return {};
}

Result<Format> FormatOf(std::string_view header) {
  const size_t fields = Split(header, ',').size();
  if (header == "t_ms" || header == "t_ms,class") return Format{ReadOwn, fields, false};
  if (header == "app,func,end_timestamp,duration") return Format{ReadFunctions2021, fields, true};
  if (header == "TIMESTAMP,ContextTokens,GeneratedTokens") return Format{ReadLlm, fields, true};
  if (header.starts_with("HashOwner,HashApp,HashFunction,Trigger,1,")) return Format{ReadFunctions2019, fields, false};
  return InvalidArgumentError(StrCat(
      "line 1: header ", Quoted(header),
      " is none of t_ms[,class], HashOwner,HashApp,HashFunction,Trigger,1,2,... (Azure Functions 2019), "
      "app,func,end_timestamp,duration (Azure Functions 2021), TIMESTAMP,ContextTokens,GeneratedTokens (Azure LLM)"));
}

bool NextLine(std::istream& csv, std::string& line) {
  if (!std::getline(csv, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

Status ReadLines(std::istream& csv, const Format& format, uint64_t seed, std::vector<TraceRequest>& requests) {
  std::mt19937_64 random(seed);
  std::string line;
  for (int64_t number = 2; NextLine(csv, line); ++number) {
    if (line.empty()) continue;
    const Fields fields = Split(line, ',');
    const std::string prefix = StrCat("line ", number, ": ");
    if (fields.size() != format.fields) {
      return InvalidArgumentError(StrCat(prefix, fields.size(), " fields where the header has ", format.fields));
    }
    FERRY_RETURN_IF_ERROR(format.read(fields, random, requests).WithPrefix(prefix));
  }
  return {};
}

// From the trace's time to that of the load.
void Place(const TraceOptions& options, bool starts_at_first, std::vector<TraceRequest>& requests) {
  std::ranges::stable_sort(requests, {}, &TraceRequest::at);
  const Duration start = starts_at_first && !requests.empty() ? requests.front().at : Duration::zero();
  for (TraceRequest& request : requests) {
    const double seconds = Seconds(request.at - start) / options.speed;
    request.at = DurationOfSeconds(seconds).value_or(Duration::max());
  }
  if (!options.clip) return;
  const auto end = std::ranges::lower_bound(requests, *options.clip, {}, &TraceRequest::at);
  requests.erase(end, requests.end());
}

}  // namespace

Result<std::vector<TraceRequest>> ReadTrace(std::istream& csv, const TraceOptions& options) {
  if (!(options.speed > 0)) return InvalidArgumentError(StrCat("trace speed ", options.speed, " is not above 0"));
  std::string header;
  NextLine(csv, header);
  const Result<Format> format = FormatOf(header);
  if (!format.ok()) return format.status();
  std::vector<TraceRequest> requests;
  FERRY_RETURN_IF_ERROR(ReadLines(csv, *format, options.seed, requests));
  Place(options, format->starts_at_first, requests);
  if (requests.empty()) return InvalidArgumentError("the trace has no requests");
  return requests;
}

Result<std::vector<Duration>> ReadIntervals(std::istream& text) {
  std::vector<Duration> gaps;
  Duration all{};
  std::string line;
  for (int64_t number = 1; NextLine(text, line); ++number) {
    if (line.empty()) continue;
    const std::optional<Duration> gap = ParseDuration(line, std::chrono::microseconds(1));
    if (!gap || *gap > std::chrono::hours(24)) {
      return InvalidArgumentError(StrCat("line ", number, ": ", Quoted(line), " is no number of microseconds"));
    }
    gaps.push_back(*gap);
    all += *gap;
  }
  if (all <= Duration::zero()) return InvalidArgumentError("there is no gap between any two requests");
  return gaps;
}

std::vector<std::optional<size_t>> AssignClasses(const std::vector<TraceRequest>& trace,
                                                 const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, size_t> known;
  for (size_t i = 0; i < classes.size(); ++i) known[classes[i]] = i;
  size_t functions = 0;
  std::vector<std::optional<size_t>> assigned;
  for (const TraceRequest& request : trace) {
    if (request.class_name.empty()) {
      assigned.emplace_back();
      continue;
    }
    const auto [of_name, is_new] = known.try_emplace(request.class_name, functions % classes.size());
    functions += is_new ? 1 : 0;
    assigned.emplace_back(of_name->second);
  }
  return assigned;
}

}  // namespace ferry
