"""What a program calls, recorded in its own environment, and what would become of these calls on other targets."""
