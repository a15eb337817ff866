/* The smooth field of golden/ott/smollm2-135m_n8.h5 with a given sigma; 0 = the stored median neighbour distance. */
#ifndef GEODEC_TESTS_FIELD_H
#define GEODEC_TESTS_FIELD_H

#include "geometry/rbf.h"

geodec_rbf *field_make(const char *file, double sigma);

#endif
