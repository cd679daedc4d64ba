#include "loadgen/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ferry/check.h"
#include "loadgen/html_text.h"
#include "loadgen/number_text.h"
#include "loadgen/report_charts.h"
#include "loadgen/report_figures.h"
#include "loadgen/report_style.h"

namespace ferry {

namespace {

using Cells = std::vector<std::string>;

// The first line has the names of the columns. Cells are HTML.
std::string Table(const std::vector<Cells>& lines) {
  std::string html = "<div class=\"scroll\"><table>\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    html += "<tr>";
    for (const std::string& cell : lines[i]) html += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", cell);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string Paragraph(std::string_view text, std::string_view kind = "") {
  return fmt::format("<p{}>{}</p>\n", kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), EscapeHtml(text));
}

std::string ServerName(const BenchResult& result) { return result.server.empty() ? result.target : result.server; }

// Names that differ: two runs of one server are numbered.
std::vector<NamedResult> Named(const std::vector<BenchResult>& results) {
  std::map<std::string, int> seen;
  std::vector<NamedResult> named;
  for (const BenchResult& result : results) {
    const int number = ++seen[ServerName(result)];
    named.push_back({number == 1 ? ServerName(result) : fmt::format("{} ({})", ServerName(result), number), &result});
  }
  return named;
}

const LoadPoint* BestPoint(const BenchResult& result) {
  const LoadPoint* best = nullptr;
  for (const LoadPoint& point : result.points) {
    if (!point.invalid.empty() || point.ok == 0) continue;
    if (best == nullptr || point.requests_per_second > best->requests_per_second) best = &point;
  }
  return best;
}

// The answer first, then what stands against it.
std::string Verdict(const BenchResult& result) {
  std::string html;
  if (result.objective) {
    const ObjectiveResult& objective = *result.objective;
    const std::string most = objective.highest_rate > 0
                                 ? fmt::format("up to {} requests/s", NumberText(objective.highest_rate))
                                 : std::string("no rate that was tried");
    html += Paragraph(
        fmt::format("{} within {}: {}", QuantileName(objective.quantile), DurationText(objective.bound), most));
    html += Paragraph(objective.explanation);
  } else if (const LoadPoint* best = BestPoint(result)) {
    html += Paragraph(fmt::format("{}{} requests/s at {}, p99 {}", result.points.size() > 1 ? "At best " : "",
                                  NumberText(best->requests_per_second), LoadText(best->load),
                                  QuantileText(best->response, 0.99)));
  } else {
    html += Paragraph("Nothing was measured that counts");
  }
  if (result.scenario) {
    html += Paragraph(fmt::format("Like MLPerf's {} (unofficial): {} {} {}", result.scenario->name,
                                  result.scenario->figure, NumberText(result.scenario->value), result.scenario->unit));
    for (const std::string& reason : result.scenario->short_of_rules) html += Paragraph("Not by its rules: " + reason);
  }
  bool bad = result.points.empty();
  for (const LoadPoint& point : result.points) {
    for (const std::string& reason : point.invalid) {
      html += Paragraph(fmt::format("INVALID, {}: {}", LoadText(point.load), reason), "bad-text");
      bad = true;
    }
    for (const std::string& note : point.notes) html += Paragraph(fmt::format("{}: {}", LoadText(point.load), note));
  }
  return fmt::format("<div class=\"verdict{}\">\n{}</div>\n", bad ? " bad" : "", html);
}

std::string Failed(const LoadPoint& point) {
  if (point.failed == 0) return "0";
  const std::string share = ShareText(static_cast<double>(point.failed), static_cast<double>(point.offered));
  return fmt::format("{} ({})", point.failed, share);
}

// With what a sample of this size leaves open, for a pointer that rests on it.
std::string QuantileCell(const LatencyHistogram& histogram, double q) {
  const std::string text = EscapeHtml(QuantileText(histogram, q));
  const std::optional<Interval> interval = ReportInterval(histogram, q);
  if (!interval) return text;
  return fmt::format("<span title=\"{} to {} with 95 % confidence\">{}</span>", DurationText(interval->low),
                     DurationText(interval->high), text);
}

Cells PointLine(const LoadPoint& point) {
  const std::optional<double> batch = MeanBatch(point);
  Cells cells = {EscapeHtml(LoadText(point.load)), NumberText(point.requests_per_second),
                 NumberText(InferencesPerSecond(point))};
  for (const double q : {0.5, 0.9, 0.95, 0.99, 0.999}) cells.push_back(QuantileCell(point.response, q));
  cells.push_back(point.ok > 0 ? DurationText(point.response.max()) : "-");
  cells.push_back(Failed(point));
  cells.push_back(fmt::format("{}", point.cancelled));
  cells.push_back(batch ? NumberText(*batch) : "-");
  cells.push_back(DurationText(point.lateness.Quantile(0.99)));
  cells.push_back(fmt::format("{:.0f} us", point.client_cpu_us));
  cells.push_back(point.invalid.empty() ? "" : "<span class=\"bad-text\">INVALID</span>");
  return cells;
}

std::string PointTable(const BenchResult& result) {
  if (result.points.empty()) return "";
  std::vector<Cells> lines = {{"load", "answered/s", "rows/s", "p50", "p90", "p95", "p99", "p99.9", "max", "failed",
                               "cancelled", "rows a batch", "sent late, p99", "client CPU", ""}};
  for (const LoadPoint& point : result.points) lines.push_back(PointLine(point));
  return Table(lines);
}

std::string FailureTable(const LoadPoint& point) {
  if (point.failures.empty()) return "";
  std::string html = "<h3>Failures</h3><div class=\"scroll\"><table><tr><th>code</th><th>requests</th><th></th></tr>\n";
  for (const FailureCount& each : point.failures) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n", EscapeHtml(each.code),
                        each.count, EscapeHtml(each.message));
  }
  return html + "</table></div>\n";
}

std::string ClassTable(const LoadPoint& point) {
  if (point.classes.empty()) return "";
  std::vector<Cells> lines = {{"class", "offered", "answered", "failed", "cancelled", "p50", "p90", "p99", "max"}};
  for (const ClassResult& each : point.classes) {
    lines.push_back({EscapeHtml(each.name), fmt::format("{}", each.offered), fmt::format("{}", each.ok),
                     fmt::format("{}", each.failed), fmt::format("{}", each.cancelled),
                     EscapeHtml(QuantileText(each.response, 0.5)), EscapeHtml(QuantileText(each.response, 0.9)),
                     EscapeHtml(QuantileText(each.response, 0.99)),
                     each.ok > 0 ? DurationText(each.response.max()) : "-"});
  }
  return "<h3>Classes of the mix</h3>" + Table(lines);
}

// Open: shown at once.
std::string PointSection(const LoadPoint& point, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n<div class=\"charts\">\n{}{}{}</div>\n{}{}</details>\n",
                     open ? " open" : "", EscapeHtml(LoadText(point.load)), RateOverTime(point), LatencyOverTime(point),
                     BatchFigure(point), ClassTable(point), FailureTable(point));
}

std::string Context(const BenchResult& result) {
  std::string arguments = "ferry-bench";
  for (const std::string& argument : result.arguments) arguments += " " + argument;
  const HostDescription& client = result.client;
  std::string html = "<details><summary>How it was measured</summary>\n";
  html += fmt::format("<pre>{}</pre>\n", EscapeHtml(arguments));
  html += Table({{"", ""},
                 {"ferry-bench", EscapeHtml(result.version)},
                 {"started", EscapeHtml(result.started)},
                 {"seed", fmt::format("{}", result.seed)},
                 {"server", EscapeHtml(ServerName(result))},
                 {"at", EscapeHtml(result.target)},
                 {"client", EscapeHtml(fmt::format("{}, {}, {} processors", client.name, client.kernel, client.cpus))},
                 {"processor", EscapeHtml(client.cpu)}});
  if (!result.model_config.empty()) {
    html += fmt::format("<p>Configuration of the model</p><pre>{}</pre>\n", EscapeHtml(result.model_config));
  }
  return html + "</details>\n";
}

std::string ResultSection(const BenchResult& result, bool alone) {
  std::string charts = SpectrumChart(result.points) + StageFigure(result.points);
  if (alone) charts = ThroughputChart({{"", &result}}) + charts;
  std::string html = Verdict(result) + PointTable(result);
  if (!charts.empty()) html += fmt::format("<div class=\"charts\">\n{}</div>\n", charts);
  for (const LoadPoint& point : result.points) html += PointSection(point, &point == &result.points.back());
  html += Paragraph("n<368 in place of a percentile: so many answers would be needed for it.", "soft");
  return html + Context(result);
}

const LoadPoint* SamePoint(const BenchResult& result, const LoadShape& load) {
  const auto same = [&](const LoadPoint& point) { return LoadText(point.load) == LoadText(load); };
  const auto found = std::ranges::find_if(result.points, same);
  return found == result.points.end() ? nullptr : &*found;
}

std::string Ratio(double value, double base) {
  return base > 0 ? fmt::format(" <span class=\"soft\">{:.2f}x</span>", value / base) : "";
}

// Every load of the first result, with what each of the others made of it.
std::string ComparisonTable(const std::vector<NamedResult>& results) {
  std::vector<Cells> lines = {{"load", "server", "answered/s", "p50", "p99", "failed", ""}};
  for (const LoadPoint& base : results.front().result->points) {
    for (const NamedResult& each : results) {
      const LoadPoint* point = SamePoint(*each.result, base.load);
      if (point == nullptr) continue;
      const auto latency = [&](double q) {
        return EscapeHtml(QuantileText(point->response, q)) +
               Ratio(static_cast<double>(point->response.Quantile(q).count()),
                     static_cast<double>(base.response.Quantile(q).count()));
      };
      lines.push_back(
          {&each == &results.front() ? EscapeHtml(LoadText(base.load)) : "", EscapeHtml(each.name),
           NumberText(point->requests_per_second) + Ratio(point->requests_per_second, base.requests_per_second),
           latency(0.5), latency(0.99), Failed(*point),
           point->invalid.empty() ? "" : "<span class=\"bad-text\">INVALID</span>"});
    }
  }
  return lines.size() > 1 ? Table(lines) : "";
}

std::string Together(const std::vector<NamedResult>& results) {
  return fmt::format("{}<div class=\"charts\">\n{}{}</div>\n", ComparisonTable(results), ThroughputChart(results),
                     SpectrumChart(results));
}

}  // namespace

std::string HtmlReport(const std::vector<BenchResult>& results) {
  FERRY_CHECK(!results.empty(), "a report is of a result");
  const std::vector<NamedResult> named = Named(results);
  const BenchResult& first = results.front();
  const bool alone = results.size() == 1;
  const std::string title = alone ? fmt::format("{} on {}", first.model, named.front().name)
                                  : fmt::format("{} on {} servers", first.model, results.size());
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>ferry-bench: {0}</title><style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n",
      EscapeHtml(title), kReportStyle);
  html += Paragraph(fmt::format("measured by ferry-bench {}, {}", first.version, first.started), "soft");
  if (alone) {
    html += ResultSection(first, alone);
  } else {
    html += Together(named);
    for (const NamedResult& each : named) {
      html += fmt::format("<h2>{}</h2>\n", EscapeHtml(each.name)) + ResultSection(*each.result, alone);
    }
  }
  return html + "</body></html>\n";
}

}  // namespace ferry
