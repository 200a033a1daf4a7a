#pragma once
#include "photofinish.h"

static inline int64_t offset_of(const pf_tensor* t, int64_t i, int64_t j) { return i * t->stride[0] + j * t->stride[1]; }
