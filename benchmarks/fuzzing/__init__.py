"""What benchmarks/fuzz.py is made of: specimens, ways to spoil them, targets, and a guard."""
