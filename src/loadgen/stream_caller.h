#ifndef FERRY_LOADGEN_STREAM_CALLER_H_
#define FERRY_LOADGEN_STREAM_CALLER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ferry/mutex.h"
#include "loadgen/infer_caller.h"

namespace ferry {

// StreamCaller sends requests on ModelStreamInfer, one stream for each channel. Whose answer comes is told by its id; an error
// without one is taken for the oldest request's. When a stream breaks, all that is under way on it fails with its status, and
// the next request opens another.
//
// A request counts as sent when it is handed over: what it then waits for the stream's flow control is the server's time.
class StreamCaller : public InferCaller {
 public:
  explicit StreamCaller(const ConnectionOptions& options);
  ~StreamCaller() override;

  void Start(const OutgoingRequest& request) override;
  bool Next(TimePoint deadline, const OnEnd& on_end) override { return NextEvent(deadline, on_end); }
  void CancelAll() override;

 private:
  class Stream;
  struct StreamEvent;

  Mutex mutex_;
  std::vector<Stream*> current_ FERRY_GUARDED_BY(mutex_);  // of each channel; null: none that works
  std::set<Stream*> streams_ FERRY_GUARDED_BY(mutex_);     // all that have not come to their end
  uint64_t last_id_ FERRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_STREAM_CALLER_H_
