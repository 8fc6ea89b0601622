"""The page under the name that it had."""
from browser_page import Page
