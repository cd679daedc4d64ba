#include "loadgen/metrics_scrape.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/strings.h"
#include "loadgen/option_text.h"

namespace ferry {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::asio::ip::tcp;

struct PageAddress {
  std::string host;
  std::string port;
  std::string path;
};

std::optional<PageAddress> AddressOf(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const size_t slash = std::min(url.find('/'), url.size());
  const std::string_view authority = url.substr(0, slash);
  const size_t colon = authority.rfind(':');
  if (colon == 0 || colon == std::string_view::npos || !ParseNumber<uint16_t>(authority.substr(colon + 1))) {
    return std::nullopt;
  }
  return PageAddress{std::string(authority.substr(0, colon)), std::string(authority.substr(colon + 1)),
                     slash == url.size() ? "/metrics" : std::string(url.substr(slash))};
}

// A GET whose steps follow each other on one thread.
class Fetch {
 public:
  explicit Fetch(const PageAddress& page) : page_(page), resolver_(io_), stream_(io_) {
    request_.method(http::verb::get);
    request_.version(11);
    request_.target(page.path);
    request_.set(http::field::host, page.host);
    request_.set(http::field::connection, "close");
    response_.body_limit(boost::none);
  }

  // What went wrong; empty if nothing did.
  std::string Run(Duration patience) {
    resolver_.async_resolve(page_.host, page_.port,
                            [this](beast::error_code error, const tcp::resolver::results_type& found) {
                              if (Failed(error)) return;
                              stream_.async_connect(found, [this](beast::error_code failed, const tcp::endpoint&) {
                                if (!Failed(failed)) Send();
                              });
                            });
    io_.run_for(patience);
    if (!ended_) return "no answer in time";
    return error_ ? error_.message() : "";
  }

  http::response<http::string_body>& response() { return response_.get(); }

 private:
  bool Failed(beast::error_code error) {
    error_ = error;
    ended_ = error.failed();
    return ended_;
  }

  void Send() {
    http::async_write(stream_, request_, [this](beast::error_code error, size_t) {
      if (Failed(error)) return;
      http::async_read(stream_, buffer_, response_, [this](beast::error_code failed, size_t) {
        error_ = failed;
        ended_ = true;
      });
    });
  }

  const PageAddress page_;
  boost::asio::io_context io_;
  tcp::resolver resolver_;
  beast::tcp_stream stream_;
  http::request<http::empty_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> response_;
  beast::error_code error_;
  bool ended_ = false;
};

// Behind the labels, in which blanks may stand.
size_t EndOfSeries(std::string_view line) {
  const size_t brace = line.find('{');
  if (brace == std::string_view::npos || brace > line.find(' ')) return line.find(' ');
  bool quoted = false;
  for (size_t i = brace; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == '}' && !quoted)
      return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

Metrics ParseMetrics(std::string_view text) {
  Metrics metrics;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const size_t end = EndOfSeries(line);
    if (end == std::string_view::npos) continue;
    const size_t begin = std::min(line.find_first_not_of(' ', end), line.size());
    const std::string_view value = line.substr(begin, line.find(' ', begin) - begin);
    // Not a number and infinity have no differences.
    if (const std::optional<double> number = ParseReal(value)) metrics[std::string(line.substr(0, end))] = *number;
  }
  return metrics;
}

std::vector<MetricChange> Changes(const Metrics& before, const Metrics& after) {
  std::vector<MetricChange> changes;
  for (const auto& [series, value] : after) {
    const auto found = before.find(series);
    const double earlier = found == before.end() ? 0 : found->second;
    if (earlier != value) changes.push_back({series, earlier, value});
  }
  return changes;
}

Result<std::string> FetchPage(const std::string& url, Duration patience) {
  const std::optional<PageAddress> page = AddressOf(url);
  if (!page) return InvalidArgumentError(StrCat(Quoted(url), ": must be http://HOST:PORT/PATH"));
  Fetch fetch(*page);
  if (const std::string error = fetch.Run(patience); !error.empty()) {
    return UnavailableError(StrCat(Printable(url), ": ", error));
  }
  if (fetch.response().result() != http::status::ok) {
    return UnavailableError(StrCat(Printable(url), ": the answer is ", fetch.response().result_int()));
  }
  return std::move(fetch.response().body());
}

}  // namespace ferry
