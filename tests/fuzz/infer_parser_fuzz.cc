// libFuzzer target: our parser of ModelInferRequest against protobuf's. The first bytes say where the message is cut.

#include <cstdio>
#include <cstdlib>

#include "support/infer_oracle.h"

namespace ferry {
namespace {

constexpr size_t kCutBytes = 4;

void TestOneMessage(const std::string& cuts, const std::string& message) {
  size_t next = 0;
  // Pieces from empty to a few hundred bytes, or up to the end.
  const auto pick = [&](size_t limit) {
    const auto cut = static_cast<unsigned char>(cuts[next++ % kCutBytes]);
    // Not only empty pieces, or there would be no end.
    const size_t size = cut == 255 ? limit : cut;
    return next % kCutBytes == 0 ? std::min(size + 1, limit) : std::min(size, limit);
  };
  const std::vector<std::string> parts = CutAtRandom(message, pick);
  const std::string disagreement = Disagreement(message, ParseInferRequest(AsPieces(parts)));
  if (disagreement.empty()) return;
  std::fprintf(stderr, "%s\n", disagreement.c_str());
  std::abort();
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it complains of each string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < ferry::kCutBytes) return 0;
  const auto* text = reinterpret_cast<const char*>(data);
  ferry::TestOneMessage({text, ferry::kCutBytes}, {text + ferry::kCutBytes, size - ferry::kCutBytes});
  return 0;
}
