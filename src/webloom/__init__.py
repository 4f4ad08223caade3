"""Webloom: a self-hosted web data platform."""

__version__ = "0.1.0"
