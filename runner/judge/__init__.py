"""The trusted side: owns the clocks, the arenas, the schedule and the verdict, and runs nobody's code."""
