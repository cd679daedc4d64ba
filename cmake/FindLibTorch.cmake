# Finds libtorch inside the torch wheel of the checkout's virtual environment (or in FERRY_TORCH_DIR) and defines
# LibTorch::cpu. torch's own TorchConfig.cmake would look for a CUDA toolkit first.
if(NOT FERRY_TORCH_DIR)
  file(GLOB candidates ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  list(GET candidates 0 first)
  set(FERRY_TORCH_DIR ${first} CACHE PATH "Folder of the installed torch package" FORCE)
endif()

find_library(LibTorch_CPU torch_cpu PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10 c10 PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU LibTorch_C10
  REASON_FAILURE_MESSAGE "run scripts/setup, which installs torch into .venv, or set FERRY_TORCH_DIR")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  # torch_cpu needs the CUDA runtime and CUPTI, which lie in wheels of their own beside torch.
  set(cuda_libraries ${FERRY_TORCH_DIR}/../nvidia/cu13/lib)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  # -idirafter: torch ships headers of protobuf and fmt that would hide the system's.
  target_compile_options(LibTorch::cpu INTERFACE
    "SHELL:-idirafter \"${FERRY_TORCH_DIR}/include\""
    "SHELL:-idirafter \"${FERRY_TORCH_DIR}/include/torch/csrc/api/include\""
    -Wno-unused-parameter -Wno-shadow -Wno-pedantic)
  target_link_libraries(LibTorch::cpu INTERFACE ${LibTorch_CPU} ${LibTorch_C10})
  # An RPATH that the libraries inherit; a RUNPATH would not reach what they need themselves.
  target_link_options(LibTorch::cpu INTERFACE
    -Wl,--disable-new-dtags -Wl,-rpath,${FERRY_TORCH_DIR}/lib -Wl,-rpath,${cuda_libraries}
    -Wl,-rpath-link,${cuda_libraries})
endif()
