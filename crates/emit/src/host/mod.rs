//! What a user needs to run a sequence of kernels without warpsight: a launch description, a C header, a C host example.
