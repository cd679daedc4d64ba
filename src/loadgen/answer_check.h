#ifndef FERRY_LOADGEN_ANSWER_CHECK_H_
#define FERRY_LOADGEN_ANSWER_CHECK_H_

#include <vector>

#include "loadgen/load_worker.h"
#include "loadgen/output_check.h"

namespace ferry {

// The outputs of an answer; `streamed`: of a stream.
//
// Errors: INTERNAL when it is not what it should be.
Result<std::vector<NamedTensor>> ReadAnswer(grpc::ByteBuffer& answer, bool streamed);

// Checks the answers to requests whose outputs are known, `expected` by request. Any thread may call it at any time.
AnswerCheck CheckAgainst(std::vector<std::vector<NamedTensor>> expected, const OutputComparison& comparison,
                         bool streamed);

}  // namespace ferry

#endif  // FERRY_LOADGEN_ANSWER_CHECK_H_
