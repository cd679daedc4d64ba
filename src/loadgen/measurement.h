#ifndef FERRY_LOADGEN_MEASUREMENT_H_
#define FERRY_LOADGEN_MEASUREMENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/bench_options.h"
#include "loadgen/bench_result.h"
#include "loadgen/load_run.h"
#include "loadgen/metrics_scrape.h"
#include "loadgen/prepared_mix.h"
#include "loadgen/stop_signal.h"

namespace inference {
class ModelStatistics;
}

namespace ferry {

class InferenceServer;

// Measurement runs the loads of a command line against a server: finds out about the model, makes the requests, warms up,
// measures point after point.
//
// Threading: one thread.
class Measurement {
 public:
  // Where lines for a person go while it runs. `live`: a terminal, where each replaces the one before.
  using ShowLine = std::function<void(const std::string& line)>;

  Measurement(MeasureOptions options, StopSignal& stop, ShowLine show);
  ~Measurement();

  // Everything before the first load.
  //   UNAVAILABLE       the server or the model is not there or not ready
  //   INVALID_ARGUMENT  the options and the model do not go together; a request, sent alone, was refused
  Status Prepare();

  // Measures all points. One that fails is in the result, as invalid. REQUIRES: Prepare() is OK.
  BenchResult Run();

 private:
  Status ReadTrace();
  Status ReadGaps();
  Status ConnectWorkers();
  // Sends a request while nothing else is under way, for its answer.
  Result<grpc::ByteBuffer> AskAlone(size_t request);
  Status TryEachClass();
  Status PrepareCheck();
  std::vector<LoadShape> Shapes() const;
  LoadPlan PlanFor(const LoadShape& shape) const;
  void WarmUpSizes();
  // What suits the server's batches: while one is computed, the next is there. 0: the server does not tell.
  int64_t BestConcurrency() const;
  std::optional<ServerSide> Since(const std::vector<std::optional<inference::ModelStatistics>>& before) const;
  Metrics ReadMetrics() const;
  // The highest rate within the objective; its long runs become points.
  ObjectiveResult Search(Duration bound, BenchResult& result);
  double GuessRate();
  LoadPoint RunPoint(const LoadPlan& plan);
  LoadSurroundings Surroundings(const LoadShape& shape) const;

  const MeasureOptions options_;
  StopSignal& stop_;
  const ShowLine show_;
  ConnectionOptions connection_;
  std::unique_ptr<InferenceServer> server_;
  PreparedMix prepared_;
  std::vector<DueRequest> trace_;
  std::vector<Duration> gaps_;
  AnswerCheck check_;  // empty: answers are not checked
  std::vector<std::unique_ptr<LoadWorker>> workers_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_MEASUREMENT_H_
