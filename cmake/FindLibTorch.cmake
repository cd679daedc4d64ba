# Finds libtorch inside the torch wheel of the checkout's virtual environment (or in FERRY_TORCH_DIR) and defines
# LibTorch::cpu, and with FERRY_CUDA also LibTorch::cuda. torch's own TorchConfig.cmake would look for a CUDA toolkit
# first, and enable the CUDA language.
if(NOT FERRY_TORCH_DIR)
  file(GLOB candidates ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  list(GET candidates 0 first)
  set(FERRY_TORCH_DIR ${first} CACHE PATH "Folder of the installed torch package" FORCE)
endif()

find_library(LibTorch_CPU torch_cpu PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10 c10 PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
set(LibTorch_LIBRARIES LibTorch_CPU LibTorch_C10)
if(FERRY_CUDA)
  find_library(LibTorch_CUDA torch_cuda PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
  find_library(LibTorch_C10_CUDA c10_cuda PATHS ${FERRY_TORCH_DIR}/lib NO_DEFAULT_PATH)
  list(APPEND LibTorch_LIBRARIES LibTorch_CUDA LibTorch_C10_CUDA)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS ${LibTorch_LIBRARIES}
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

  if(FERRY_CUDA)
    # The kernels register themselves when their library is loaded: it is needed, though no symbol of ours asks for it.
    # In one word, since CMake would put the libraries elsewhere than the options around them.
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    target_link_libraries(LibTorch::cuda INTERFACE
      LibTorch::cpu -Wl,--push-state,--no-as-needed,${LibTorch_CUDA},${LibTorch_C10_CUDA},--pop-state)
  endif()
endif()
