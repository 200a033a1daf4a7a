"""The runners' API and the pages about runners."""
