"""The site as other programs show it: pictures and badges of boards, feeds, the map for search engines."""
