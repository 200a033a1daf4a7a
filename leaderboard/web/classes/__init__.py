"""Pages of classes for teachers, graders and students."""
