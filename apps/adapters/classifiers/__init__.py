"""What people say to an assistant, judged by models of our own."""
