# SPDX-License-Identifier: Apache-2.0
# find_package(fencepost): the function fencepost_ptx().
include(${CMAKE_CURRENT_LIST_DIR}/FencepostPtx.cmake)
