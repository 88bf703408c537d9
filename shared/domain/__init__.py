"""Pure rules of the domain: values in, values out; no I/O, no clock, no cloud."""
