#include "frontend/wire/piece_stream.h"

#include <algorithm>

namespace ferry {

bool PieceStream::Next(const void** data, int* size) {
  while (piece_ < pieces_.size() && offset_ == pieces_[piece_].size()) {
    ++piece_;
    offset_ = 0;
  }
  if (piece_ == pieces_.size()) return false;
  const Bytes rest = pieces_[piece_].subspan(offset_);
  *data = rest.data();
  *size = static_cast<int>(rest.size());
  offset_ = pieces_[piece_].size();
  position_ += *size;
  return true;
}

void PieceStream::BackUp(int count) {
  offset_ -= static_cast<size_t>(count);
  position_ -= count;
}

bool PieceStream::Skip(int count) {
  auto left = static_cast<size_t>(count);
  while (left > 0 && piece_ < pieces_.size()) {
    const size_t taken = std::min(left, pieces_[piece_].size() - offset_);
    left -= taken;
    offset_ += taken;
    position_ += static_cast<int64_t>(taken);
    if (offset_ == pieces_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  return left == 0;
}

}  // namespace ferry
