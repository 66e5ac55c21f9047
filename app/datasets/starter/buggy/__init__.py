"""The starter problems with bugs made by hand; what is wrong stands in the problem's JSON file."""
