"""Pure maths on series: robust slopes, trend tests, noise, windows, warm-up. Imports nothing of ours."""
