"""The organisers' pages, /organise: everything about one competition for those who have a role in it."""
