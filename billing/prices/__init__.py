"""What an hour costs: dated prices and the rule that picks one."""
