"""Read graphs: files and folders, data sets and networks by name."""

from ddgk.io.catalogue import (
    DATASETS,
    NETWORKS,
    DatasetInfo,
    cache_folder,
    data_folder,
    list_datasets,
)
from ddgk.io.dataset import Dataset, ReadReport, Summary
from ddgk.io.files import karate_club, read
from ddgk.io.loading import get, load
from ddgk.io.tu import read_tu

__all__ = [
    "DATASETS",
    "NETWORKS",
    "Dataset",
    "DatasetInfo",
    "ReadReport",
    "Summary",
    "cache_folder",
    "data_folder",
    "get",
    "karate_club",
    "list_datasets",
    "load",
    "read",
    "read_tu",
]
