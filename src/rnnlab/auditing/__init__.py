"""Any torch module, held to the laws of sequences: padding, order, neighbours, causality."""
