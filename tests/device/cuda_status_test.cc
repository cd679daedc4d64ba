// Built where CUDA is.

#include "device/cuda_status.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CudaStatusTest, SuccessIsOk) { EXPECT_THAT(CudaStatus(cudaSuccess, "cuda:0"), IsOk()); }

TEST(CudaStatusTest, OutOfMemoryMayBeTriedAgain) {
  EXPECT_THAT(CudaStatus(cudaErrorMemoryAllocation, "cuda:0: cannot allocate 64 bytes"),
              HasStatus(StatusCode::kResourceExhausted,
                        "cuda:0: cannot allocate 64 bytes: out of memory (cudaErrorMemoryAllocation)"));
}

TEST(CudaStatusTest, WhatEndsTheContextIsUnavailable) {
  // By their numbers: those that libtorch.org's and NVIDIA's documents name.
  for (const int error : {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}) {
    EXPECT_TRUE(EndsContext(static_cast<cudaError_t>(error))) << error;
    EXPECT_THAT(CudaStatus(static_cast<cudaError_t>(error), "cuda:1"),
                HasStatus(StatusCode::kUnavailable, AllOf(StartsWith("cuda:1: "), HasSubstr("cudaError"))));
  }
}

TEST(CudaStatusTest, OtherErrorsConcernOneCallOnly) {
  for (const cudaError_t error : {cudaErrorInvalidValue, cudaErrorNotReady, cudaErrorInvalidResourceHandle,
                                  cudaErrorLaunchOutOfResources, cudaErrorStreamCaptureUnsupported}) {
    EXPECT_FALSE(EndsContext(error)) << error;
    EXPECT_THAT(CudaStatus(error, "cuda:0"), HasStatus(StatusCode::kInternal, StartsWith("cuda:0: ")));
  }
}

}  // namespace
}  // namespace ferry
