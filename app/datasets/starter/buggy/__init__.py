"""The starter problems with one bug each, by hand; what is wrong stands in the problem's JSON file."""
