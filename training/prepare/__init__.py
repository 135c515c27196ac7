"""The preparation step: raw tables in, clean Parquet shards, a quality report and a manifest out.

Run twice on the same input it gives the same bytes.
"""
