"""Read graphs: files and folders, data sets and networks by name."""

from ddgk.io.catalogue import DATASETS, NETWORKS, DatasetInfo, NetworkInfo
from ddgk.io.dataset import Dataset, ReadReport
from ddgk.io.files import read
from ddgk.io.loading import get, load
from ddgk.io.networks import karate_club, load_network
from ddgk.io.storage import cache_folder, data_folder
from ddgk.io.summary import Listing, Summary, describe, list_datasets
from ddgk.io.tu import read_tu

__all__ = [
    "DATASETS",
    "NETWORKS",
    "Dataset",
    "DatasetInfo",
    "Listing",
    "NetworkInfo",
    "ReadReport",
    "Summary",
    "cache_folder",
    "data_folder",
    "describe",
    "get",
    "karate_club",
    "list_datasets",
    "load",
    "load_network",
    "read",
    "read_tu",
]
