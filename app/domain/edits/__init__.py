"""What a repair changed: edit scripts, their blocks, and which known bugs the blocks answer to. Pure.

After Zhu et al. 2026, "Precise Debugging Benchmark: Is Your Model Debugging or Regenerating?" (arXiv 2604.17338).
"""
