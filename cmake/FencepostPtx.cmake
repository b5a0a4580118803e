# SPDX-License-Identifier: Apache-2.0
# fencepost for CMake projects with CUDA.
#
#   find_package(fencepost)              # or include(FencepostPtx)
#   fencepost_ptx(my_gemm)               # the kernels of this target get their fences
#   fencepost_ptx(my_gemm CHECK)         # ... and the target my_gemm-fencepost-check audits its PTX
#   fencepost_ptx(my_gemm OPTIONS --placement=async)
#
# A target of CUDA sources is compiled with nvcc's --ptxas-prefix, so that its cubins are fenced. PTX that nvcc
# embeds beside them is not (FENCEPOST_INPLACE=1 in the environment of the build does that too): prefer
# CUDA_ARCHITECTURES "90a-real". A target with CUDA_PTX_COMPILATION gets the .ptx files themselves rewritten by
# a target NAME-fenced, whose FENCEPOST_PTX property names the folder.

find_program(FENCEPOST_EXECUTABLE fencepost HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin
	${CMAKE_CURRENT_LIST_DIR}/../../../../bin)
find_program(FENCEPOST_PTXAS_EXECUTABLE fencepost-ptxas HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin
	${CMAKE_CURRENT_LIST_DIR}/../../../../bin)

function(fencepost_ptx target)
	cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK" "" "OPTIONS")
	if(NOT TARGET ${target})
		message(FATAL_ERROR "fencepost_ptx: there is no target ${target}")
	endif()
	if(NOT FENCEPOST_EXECUTABLE OR NOT FENCEPOST_PTXAS_EXECUTABLE)
		message(FATAL_ERROR "fencepost_ptx: fencepost was not found; set FENCEPOST_EXECUTABLE and "
			"FENCEPOST_PTXAS_EXECUTABLE")
	endif()
	get_target_property(is_ptx ${target} CUDA_PTX_COMPILATION)
	set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.fenced)
	if(is_ptx)
		add_custom_target(${target}-fenced ALL
			COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
			COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
			COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${target}> ${folder}
			COMMAND sh -c "cd \"$1\" && shift && exec \"$@\" ./*.ptx" fencepost ${folder}
				${FENCEPOST_EXECUTABLE} -i -q ${arg_OPTIONS}
			COMMAND_EXPAND_LISTS VERBATIM)
		set_property(TARGET ${target}-fenced PROPERTY FENCEPOST_PTX ${folder})
		add_dependencies(${target}-fenced ${target})
	else()
		set(prefix ${FENCEPOST_PTXAS_EXECUTABLE})
		if(arg_OPTIONS)
			list(JOIN arg_OPTIONS " " options)
			set(prefix ${CMAKE_CURRENT_BINARY_DIR}/${target}-fencepost-ptxas)
			file(GENERATE OUTPUT ${prefix}
				CONTENT "#!/bin/sh\nFENCEPOST_OPTIONS='${options}' exec '${FENCEPOST_PTXAS_EXECUTABLE}' \"$@\"\n"
				FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE)
		endif()
		target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--ptxas-prefix=${prefix}>)
	endif()
	if(arg_CHECK AND is_ptx)
		add_custom_target(${target}-fencepost-check
			COMMAND ${FENCEPOST_EXECUTABLE} --check ${arg_OPTIONS} $<TARGET_OBJECTS:${target}>
			COMMAND_EXPAND_LISTS VERBATIM)
		add_dependencies(${target}-fencepost-check ${target})
	elseif(arg_CHECK)
		message(WARNING "fencepost_ptx: CHECK needs a target with CUDA_PTX_COMPILATION")
	endif()
endfunction()
