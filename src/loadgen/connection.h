#ifndef FERRY_LOADGEN_CONNECTION_H_
#define FERRY_LOADGEN_CONNECTION_H_

#include "loadgen/bench_options.h"
#include "loadgen/infer_caller.h"

namespace ferry {

// How the command line says to connect.
//   NOT_FOUND         a certificate's file cannot be read
//   INVALID_ARGUMENT  a header without a colon
Result<ConnectionOptions> ReadConnection(const MeasureOptions& options);

}  // namespace ferry

#endif  // FERRY_LOADGEN_CONNECTION_H_
