// Compiles the file GASG21_KERNELS for what every machine of the architecture has.
#define GASG21_SET baseline
#define GASG21_BYTES 16
#include GASG21_KERNELS
#undef GASG21_SET
#undef GASG21_BYTES
