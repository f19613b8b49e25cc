"""What goes over the wire, defined once: both ends, and the OpenAPI document, are made from these tables."""
