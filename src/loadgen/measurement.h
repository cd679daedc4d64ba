#ifndef FERRY_LOADGEN_MEASUREMENT_H_
#define FERRY_LOADGEN_MEASUREMENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/bench_options.h"
#include "loadgen/bench_result.h"
#include "loadgen/load_run.h"
#include "loadgen/model_description.h"
#include "loadgen/stop_signal.h"

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
  Status Describe();
  Status MakeMix();
  Status ReadTrace();
  Status ConnectWorkers();
  Status TryOne();
  std::vector<LoadShape> Shapes() const;
  LoadPlan PlanFor(const LoadShape& shape) const;
  void WarmUpSizes();
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
  ModelDescription model_;
  std::string config_text_;
  RequestMix mix_;
  std::vector<Duration> trace_;
  std::vector<std::unique_ptr<LoadWorker>> workers_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_MEASUREMENT_H_
