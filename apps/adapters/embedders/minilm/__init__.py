"""all-MiniLM-L6-v2 on a CPU: its tokenizer, its weights, and two ways to run them."""
