"""Measurements that print figures. They assert nothing: the machine's speed is not the code's correctness."""
