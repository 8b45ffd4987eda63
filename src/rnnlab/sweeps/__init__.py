"""What is run: experiments, plans, axes, studies, search, tuning, budgets."""
