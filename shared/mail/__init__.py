"""Parse archives and mails: `parse.parse_archive`, `segments.segment` and `masking.mask_addresses`."""
