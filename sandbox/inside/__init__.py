"""First programs inside containers. In the image they lie flat beside protocol.py in /opt/photofinish."""
