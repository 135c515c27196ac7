"""The offline account: the AWS API on this machine, with jobs that really run.

`Account` brings it up and down; `python -m infra.offline` is its process.
"""
