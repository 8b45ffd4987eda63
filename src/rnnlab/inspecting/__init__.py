"""Inside a network: gradients through time, gates, saliency, and what a step costs."""
