"""Backups of changedetection.io: a zip archive of its settings, watches and snapshots."""
