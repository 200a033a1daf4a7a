"""Everything HTTP: pages, the APIs for people and for runners, the live stream. The rules live in the apps below."""
