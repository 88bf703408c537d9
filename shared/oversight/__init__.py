"""What an operator has to see and may do, for the command line and for the operator's page."""
