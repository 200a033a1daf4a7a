"""The pages, one module a subject. A view looks up, permits, validates, makes one call and answers."""
