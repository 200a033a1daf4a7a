"""What was sent: immutable, validated at the door."""
