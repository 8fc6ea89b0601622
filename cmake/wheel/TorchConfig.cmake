# PyTorch's wheel with CUDA, unpacked at AUGUR_TORCH_WHEEL, for machines that lack CUDA's toolkit and libraries: nothing
# is compiled for a GPU here, and what libtorch itself needs is found where the program runs.
set(libraries ${AUGUR_TORCH_WHEEL}/torch/lib)
if(NOT EXISTS ${libraries}/libtorch_cuda.so)
  set(Torch_FOUND FALSE)
  set(Torch_NOT_FOUND_MESSAGE "${libraries}/libtorch_cuda.so is missing: AUGUR_TORCH_WHEEL is to be an unpacked wheel")
  return()
endif()
set(TORCH_INCLUDE_DIRS ${AUGUR_TORCH_WHEEL}/torch/include ${AUGUR_TORCH_WHEEL}/torch/include/torch/csrc/api/include)
# That of CUDA registers its kernels when it is loaded; no symbol of it is used. The system's libstdc++ comes first:
# libtorch.so exports a part of an older one.
set(TORCH_LIBRARIES
    -Wl,--allow-shlib-undefined -Wl,--push-state,--no-as-needed stdc++ ${libraries}/libtorch_cuda.so
    ${libraries}/libc10_cuda.so ${libraries}/libtorch.so ${libraries}/libtorch_cpu.so ${libraries}/libc10.so -Wl,--pop-state)
set(Torch_FOUND TRUE)
