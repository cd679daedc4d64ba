#ifndef FERRY_FRONTEND_HTTP_METRICS_SERVER_H_
#define FERRY_FRONTEND_HTTP_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "ferry/status.h"

namespace ferry {

// MetricsServer answers GET /metrics over HTTP/1.1 on a port and a thread of its own. Other paths are 404, other
// methods 405; a connection that sends nothing for a while is closed.
//
// Threading: Start() and Stop() by the owner. `text` is called on the server's thread.
class MetricsServer {
 public:
  struct Options {
    std::string address = "0.0.0.0";
    int port = 8002;  // 0: any free one, see port()
  };

  MetricsServer(Options options, std::function<std::string()> text);
  ~MetricsServer();

  // UNAVAILABLE when the port cannot be had.
  Status Start();
  int port() const;
  void Stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_HTTP_METRICS_SERVER_H_
