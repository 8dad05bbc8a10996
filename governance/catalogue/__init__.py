"""What there is: the installation, clusters, pools, accelerator models, nodes, places, and their states over time."""
