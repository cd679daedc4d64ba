#include "frontend/http/metrics_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "ferry/version.h"

namespace ferry {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response Answer(const Request& request, const std::function<std::string()>& text) {
  Response response;
  response.version(request.version());
  response.keep_alive(request.keep_alive());
  response.set(http::field::server, StrCat("ferry/", kVersion));
  response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
  const beast::string_view path = request.target().substr(0, request.target().find('?'));
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    response.result(http::status::method_not_allowed);
    response.set(http::field::allow, "GET, HEAD");
    response.body() = "only GET and HEAD are answered here\n";
  } else if (path != "/metrics") {
    response.result(http::status::not_found);
    response.body() = "not found; the metrics are at /metrics\n";
  } else {
    response.body() = text();
  }
  response.prepare_payload();
  if (request.method() == http::verb::head) response.body().clear();  // the length stays
  return response;
}

// One connection, kept alive by the operation that is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const std::function<std::string()>& text) : stream_(std::move(socket)), text_(text) {}

  void Read() {
    request_ = {};
    stream_.expires_after(std::chrono::seconds(30));
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->OnRead(error); });
  }

 private:
  void OnRead(beast::error_code error) {
    if (error) return;  // closed, timed out, or no HTTP: the socket closes with this object
    response_ = Answer(request_, text_);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code failed, size_t) { self->OnWritten(failed); });
  }

  void OnWritten(beast::error_code error) {
    if (!error && response_.keep_alive()) return Read();
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  const std::function<std::string()>& text_;
  beast::flat_buffer buffer_{size_t{16} << 10};  // the most that a request may have in headers
  Request request_;
  Response response_;
};

}  // namespace

struct MetricsServer::Parts {
  Parts(Options o, std::function<std::string()> t) : options(std::move(o)), text(std::move(t)) {}

  void Accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return AcceptLater();
      std::make_shared<Session>(std::move(socket), text)->Read();
      Accept();
    });
  }

  // Out of file descriptors, most likely: asking again at once would only burn a core until some are closed.
  void AcceptLater() {
    retry.expires_after(std::chrono::milliseconds(100));
    retry.async_wait([this](beast::error_code error) {
      if (!error) Accept();
    });
  }

  const Options options;
  const std::function<std::string()> text;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer retry{io};
  std::thread thread;
};

MetricsServer::MetricsServer(Options options, std::function<std::string()> text)
    : parts_(std::make_unique<Parts>(std::move(options), std::move(text))) {}

MetricsServer::~MetricsServer() { Stop(); }

Status MetricsServer::Start() {
  const std::string where = StrCat(parts_->options.address, ":", parts_->options.port);
  beast::error_code error;
  std::string_view host = parts_->options.address;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);  // IPv6, as in a URL
  const asio::ip::address address = asio::ip::make_address(std::string(host), error);
  if (error) return InvalidArgumentError(StrCat("metrics address ", where, ": ", error.message()));
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(parts_->options.port));
  tcp::acceptor& acceptor = parts_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  // Only skips the wait after a restart; two servers on one port stay an error.
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return UnavailableError(StrCat("cannot listen on ", where, " for metrics: ", error.message()));
  parts_->Accept();
  parts_->thread = std::thread([this] { parts_->io.run(); });
  return Status();
}

int MetricsServer::port() const { return parts_->acceptor.local_endpoint().port(); }

void MetricsServer::Stop() {
  parts_->io.stop();
  if (parts_->thread.joinable()) parts_->thread.join();
}

}  // namespace ferry
