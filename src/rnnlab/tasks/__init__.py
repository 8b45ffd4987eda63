"""What is read and what is answered; a task is one file."""
