#pragma once

namespace augur::elementary {

// Elementary functions with the same bits on every processor. Own code: the C library picks among several of
// each when a program starts, by what the processor has, and those with fused operations round differently.
// Here everything is a fixed sequence of correctly rounded operations. One number at a time; rows have their
// own (kernels/ops.h).
//
// What changes bits here changes arithmetic: see arithmetic_law.h. Special values are those of C's functions
// of the same name. Errors are in units of the last place of the result.

/// Within 1 ulp.
double exp(double x);

/// Within 1 ulp.
double log(double x);

/// Within 1 ulp.
double pow(double x, double y);

/// Within 6 ulp.
double tanh(double x);

}  // namespace augur::elementary
