/* All public headers of libgeodec: those that are installed. Made by make docs. */
#ifndef GEODEC_H
#define GEODEC_H

#endif
