#ifndef FERRY_FRONTEND_WIRE_PIECE_STREAM_H_
#define FERRY_FRONTEND_WIRE_PIECE_STREAM_H_

#include <google/protobuf/io/zero_copy_stream.h>

#include <span>

#include "ferry/tensor.h"

namespace ferry {

// PieceStream lets protobuf's readers read bytes that lie in several pieces. Borrows them.
class PieceStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit PieceStream(std::span<const Bytes> pieces) : pieces_(pieces) {}

  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return position_; }

 private:
  const std::span<const Bytes> pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // in that piece
  int64_t position_ = 0;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_WIRE_PIECE_STREAM_H_
