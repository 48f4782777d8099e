"""Makes recordings: finds scenarios, runs them in processes of their own, and keeps what those tell."""
